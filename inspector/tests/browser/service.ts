/** The page under the policy that the service sets, with a service that answers from a recorded session. */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";

import { type Browser, chromium, type Page, type Route } from "playwright-core";

import type { Comparison, FileView, InspectionView, LiveRequest, Wire, Workspace } from "../../src/api/types.ts";

type Open<T> = { -readonly [K in keyof T]: T[K] };

export interface Recorded {
  workspace: Omit<Open<Workspace>, "files"> & { files: Open<FileView>[] };
  documents: Record<string, unknown>;
  inspection: InspectionView;
  wire: Wire;
  comparison: Comparison;
}

export const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const ROOT = new URL("../../..", import.meta.url).pathname;
const PAGE = join(ROOT, "src/innkeeper/service/inspector/page");
const TYPES: Record<string, string> = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
// Stricter by one than what the service sets: no HTML is made of strings at all.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; font-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

export const recorded = (): Recorded => JSON.parse(readFileSync(new URL("../fixtures/session.json", import.meta.url), "utf8")) as Recorded;

export async function serve(): Promise<{ address: string; close: () => void }> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://x").pathname).replace(/^\/inspector\/?/, "") || "index.html";
    try {
      const body = readFileSync(join(PAGE, path));
      response.writeHead(200, { "Content-Type": TYPES[path.split(".").at(-1)!] ?? "text/plain", "Content-Security-Policy": POLICY });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/inspector/`, close: () => server.close() };
}

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
    timeout: 100_000,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });

/** Answer the page's calls from a session; a message that is typed becomes the text of the last message. */
export async function answer(page: Page, session: Recorded): Promise<void> {
  const view = (name: string): FileView | undefined => session.workspace.files.find((file) => file.id === name);
  const pages: Record<string, (url: URL) => unknown> = {
    workspace: () => session.workspace,
    wire: (url) => ({ ...session.wire, dialect: url.searchParams.get("dialect") }),
    compare: () => session.comparison,
    models: () => [],
  };
  await page.route("**/v1/inspector/**", (route: Route) => {
    const url = new URL(route.request().url());
    const path = url.pathname.replace("/v1/inspector/", "");
    const known = pages[path];
    if (known) return route.fulfill({ json: known(url) });
    if (path === "talk") {
      const end = JSON.stringify({ message: '"Not tonight."', plan: session.inspection });
      return route.fulfill({ contentType: "text/event-stream", body: `data: {"text":"\\"Not "}\n\ndata: {"text":"tonight.\\""}\n\ndata: ${end}\n\n` });
    }
    const [, id, rest] = /^files\/([^/]+)(?:\/(.*))?$/.exec(path) ?? [];
    const name = decodeURIComponent(id ?? "");
    if (name && !rest) return route.fulfill({ json: { file: view(name), document: session.documents[name], text: null } });
    if (rest === "changes") return route.fulfill({ json: { before: '{\n  "nickname": "Wenna"\n}', after: '{\n  "nickname": "Wen"\n}' } });
    if (rest === "save") return route.fulfill({ json: { file: { ...view(name), changed: false }, backup: `${name}.orig` } });
    return route.fulfill({ status: 404, json: { error: { code: "not_found", message: "not here", hint: null, where: null } } });
  });
  await page.routeWebSocket("**/v1/inspector/live", (socket) => {
    socket.onMessage((text) => {
      const request = JSON.parse(String(text)) as LiveRequest;
      const said = request.settings?.message;
      const last = session.inspection.messages.at(-1)!;
      if (said) session.inspection = { ...session.inspection, messages: session.inspection.messages.with(-1, { ...last, pieces: [{ text: said, origin: null }] }) };
      const files = session.workspace.files.filter((file) => request.edits?.some((edit) => edit.file === file.id)).map((file) => ({ ...file, changed: true }));
      socket.send(JSON.stringify({ serial: request.serial, took_ms: 1, inspection: session.inspection, files }));
    });
  });
}
