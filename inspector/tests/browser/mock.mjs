// A page under the policy that the service sets, with a service that answers from the recorded session.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const HERE = dirname(fileURLToPath(import.meta.url));
const PAGE = join(HERE, "../../../src/innkeeper/service/inspector/page");
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml", json: "application/json" };
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; font-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

export const recorded = () => JSON.parse(readFileSync(join(HERE, "../fixtures/session.json"), "utf8"));

export async function serve() {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname)).replace(/^\/inspector\/?/, "") || "index.html";
    try {
      const body = readFileSync(join(PAGE, path));
      response.writeHead(200, { "Content-Type": TYPES[path.split(".").at(-1)] ?? "text/plain", "Content-Security-Policy": POLICY });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/inspector/`, close: () => server.close() };
}

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });

/** Answer the page's calls from a session; `rebuild` may change the inspection for a request. */
export async function answer(page, session, rebuild = (request, inspection) => inspection) {
  const json = (route, value) => route.fulfill({ json: value });
  await page.route("**/v1/inspector/**", (route) => {
    const url = new URL(route.request().url());
    const path = url.pathname.replace("/v1/inspector/", "");
    const view = (id) => session.workspace.files.find((file) => file.id === id);
    if (path === "workspace") return json(route, session.workspace);
    if (path === "wire") return json(route, { ...session.wire, dialect: url.searchParams.get("dialect") });
    if (path === "compare") return json(route, session.comparison);
    if (path === "talk")
      return route.fulfill({ contentType: "text/event-stream", body: `data: {"text":"\\"Not "}\n\ndata: {"text":"tonight.\\""}\n\ndata: ${JSON.stringify({ message: '"Not tonight."', plan: session.inspection })}\n\n` });
    const [, id, rest] = path.match(/^files\/([^/]+)(?:\/(.*))?$/) ?? [];
    const name = id && decodeURIComponent(id);
    if (name && !rest) return json(route, { file: view(name), document: session.documents[name], text: null });
    if (rest === "changes") return json(route, { before: JSON.stringify(session.documents[name], null, 2), after: JSON.stringify(session.documents[name], null, 2).replace("grey", "bright") });
    if (rest === "save") return json(route, { file: { ...view(name), changed: false }, backup: `${name}.orig` });
    return route.fulfill({ status: 404, json: { code: "not_found", message: "not here", hint: null, where: null } });
  });
  await page.routeWebSocket("**/v1/inspector/live", (socket) => {
    socket.onMessage((text) => {
      const request = JSON.parse(text);
      session.inspection = rebuild(request, session.inspection);
      const changed = session.workspace.files.filter((file) => request.edits.some((edit) => edit.file === file.id)).map((file) => ({ ...file, changed: true }));
      socket.send(JSON.stringify({ serial: request.serial, took_ms: 7.3, inspection: session.inspection, files: changed }));
    });
  });
}
