import { mount } from "svelte";

import App from "./App.svelte";
import type { Socket } from "./api/live.ts";
import "./app.css";
import { preferences } from "./state/preferences.svelte.ts";
import { session } from "./state/session.svelte.ts";

preferences.start();
document.getElementById("opening")?.remove(); // stood there until the page's own parts were loaded
mount(App, { target: document.body });
void session.start(() => new WebSocket(`${location.origin.replace(/^http/, "ws")}/v1/inspector/live`) as unknown as Socket);
