/** The calls of the page: same origin, by the cookie of the session, JSON in and out. */

import type {
  Changes, Comparison, CompareRequest, Conflict, EntriesCopy, EntryEdits, DraftRequest, FileContent, FileReply, FileView, InstallChoice, InstallContents, Kind, LibraryView, LogPage, MetricsView, ProblemView, PublishRequest, ConflictEnd,
  RenderedView, RenderRequest, ResolutionView, ResolutionRequest, RollbackRequest, Saved, TalkDelta, TalkEnd, TalkModel, TalkRequest, TemplateSummary, TemplateView, TierRequest, TierView, TimelineRequest, TimelineView, StepView,
  VaultNames, Wire, Workspace,
} from "./types.ts";

const BASE = "/v1/inspector/";

/** What the service says was not done. */
export class ProblemError extends Error {
  constructor(readonly problem: ProblemView, readonly status: number) {
    super(problem.message);
  }
}

async function problemOf(response: Response): Promise<ProblemError> {
  const said: unknown = await response.json().catch(() => null);
  const body = (said && typeof said === "object" && "error" in said ? said.error : said) as Partial<ProblemView & { detail: string; title: string }> | null;
  const problem: ProblemView = {
    code: body?.code ?? String(response.status),
    message: body?.message ?? body?.detail ?? body?.title ?? response.statusText,
    hint: body?.hint ?? null,
    where: body?.where ?? null,
  };
  return new ProblemError(problem, response.status);
}

async function call(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(BASE + path, { credentials: "same-origin", ...init });
  if (!response.ok) throw await problemOf(response);
  return response;
}

const get = async <T>(path: string, signal?: AbortSignal): Promise<T> => (await (await call(path, signal ? { signal } : {})).json()) as T;

const post = async <T>(path: string, body: unknown = {}): Promise<T> =>
  (await (await call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json()) as T;

/** What has a value as the query of an address. */
const query = (values: Readonly<Record<string, string | number | null | undefined>>): string => {
  const set = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return set.length ? `?${new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()}` : "";
};

const file = (id: string): string => `files/${encodeURIComponent(id)}`;

export const workspace = (): Promise<Workspace> => get("workspace");
export const install = (): Promise<InstallContents> => get("install");
export const choose = (choice: InstallChoice): Promise<Workspace> => post("install", choice);
export const openFile = (id: string): Promise<FileContent> => get(file(id));
export const changes = (id: string): Promise<Changes> => get(`${file(id)}/changes`);
export const save = (id: string): Promise<Saved> => post(`${file(id)}/save`);
export const conflict = (id: string): Promise<Conflict> => get(`${file(id)}/conflict`);
export const resolve = (id: string, resolution: ConflictEnd): Promise<FileReply> => post(`${file(id)}/resolve`, resolution);
export const revert = (id: string): Promise<FileReply> => post(`${file(id)}/revert`);
export const wire = (signal?: AbortSignal): Promise<Wire> => get("wire", signal);
export const timeline = (request: TimelineRequest): Promise<TimelineView> => post("timeline", request);
export const models = (): Promise<readonly TalkModel[]> => get("models");
export const steps = (): Promise<readonly StepView[]> => get("steps");
export const compare = (request: CompareRequest): Promise<Comparison> => post("compare", request);

export const picture = async (id: string): Promise<Blob> => (await call(`${file(id)}/picture`)).blob();
export const exported = async (id: string, format: string): Promise<Blob> =>
  (await call(`${file(id)}/export?format=${encodeURIComponent(format)}`)).blob();
export const replayBundle = async (): Promise<Blob> => (await call("replay")).blob();

async function sent<T>(path: string, content: Blob, type: string): Promise<T> {
  const response = await call(path, { method: "POST", headers: { "Content-Type": type }, body: content });
  return (await response.json()) as T;
}

export const addFile = (content: File): Promise<FileView> => sent(`files?name=${encodeURIComponent(content.name)}`, content, "application/octet-stream");
export const repaint = (id: string, picture: File): Promise<FileReply> => sent(`${file(id)}/picture`, picture, "application/octet-stream");
export const begin = (kind: Kind): Promise<FileView> => post(`files/new${query({ kind })}`);
export const entries = (copy: EntriesCopy): Promise<EntryEdits> => post("entries", copy);
export const openReplay = (content: Blob): Promise<Workspace> => sent("replay", content, "application/json");

const template = (name: string): string => `library/templates/${encodeURIComponent(name)}`;

/** The library: what is in it, what would answer, and changes of its templates. */
export const library = {
  overview: (): Promise<LibraryView> => get("library"),
  templates: (): Promise<readonly TemplateSummary[]> => get("library/templates"),
  template: (name: string, version: number | null = null): Promise<TemplateView> => get(template(name) + query({ version })),
  changes: (name: string, a: number, b: number): Promise<Changes> => get(`library/changes/${encodeURIComponent(name)}${query({ a, b })}`),
  render: (name: string, request: RenderRequest): Promise<RenderedView> => post(`${template(name)}/render`, request),
  draft: (name: string, request: DraftRequest): Promise<TemplateView> => post(`${template(name)}/draft`, request),
  publish: (name: string, request: PublishRequest): Promise<TemplateView> => post(`${template(name)}/publish`, request),
  rollback: (name: string, request: RollbackRequest): Promise<TemplateView> => post(`${template(name)}/rollback`, request),
  resolve: (request: ResolutionRequest): Promise<ResolutionView> => post("library/resolve", request),
  tier: (request: TierRequest): Promise<TierView> => post("library/tier", request),
  rows: <Row>(of: Catalogue): Promise<readonly Row[]> => get(`library/${of}`),
  log: (before: number | null = null): Promise<LogPage> => get(`library/log${query({ before })}`),
  metrics: (hours: number): Promise<MetricsView> => get(`library/metrics${query({ hours })}`),
  vault: (): Promise<VaultNames> => get("library/vault"),
};

export type Catalogue = "models" | "providers" | "tools" | "negatives" | "budgets";

/** An answer as it comes; ends with the whole of it and the plan that made it. */
export async function* talk(request: TalkRequest, signal: AbortSignal): AsyncGenerator<TalkDelta | TalkEnd> {
  const response = await call("talk", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(request),
    signal,
  });
  if (!response.body) return;
  for await (const { event, data } of events(response.body)) {
    if (data === "[DONE]") return;
    if (event === "error") throw new ProblemError(JSON.parse(data) as ProblemView, 502);
    yield JSON.parse(data) as TalkDelta | TalkEnd;
  }
}

/** The events of a stream of server-sent events. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<{ event: string; data: string }> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += (value ?? "").replace(/\r\n?/g, "\n");
    const blocks = rest.split("\n\n");
    rest = done ? "" : (blocks.pop() ?? "");
    for (const block of blocks) {
      const lines = block.split("\n");
      const event = lines.find((line) => line.startsWith("event:"))?.slice(6).trim() ?? "message";
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, "")).join("\n");
      if (data) yield { event, data };
    }
    if (done) return;
  }
}
