/** The session: what is open, what was changed, and the prompt that it makes. Every view reads from it and changes through it. */

import { SvelteMap } from "svelte/reactivity";

import * as api from "../api/client.ts";
import { Live, type LiveEvents, type LiveState, type Socket } from "../api/live.ts";
import type { Edit, FileView, FindingView, InspectionView, InstallChoice, Kind, LiveReply, OriginView, ProblemView, ConflictEnd, SettingsChange, SettingsView, SharedChange, VerdictView, Workspace } from "../api/types.ts";
import { type Path, differences, startsWith, withEdit } from "../format/paths.ts";
import { problemText, said, t } from "../words/words.svelte.ts";
import { equal, updated } from "./update.ts";

export interface Opened {
  readonly document: unknown;
  readonly text: string | null;
}

/** A place in a file. */
export interface Place {
  readonly file: string;
  readonly path: Path;
}

export interface Notice {
  readonly kind: "good" | "bad";
  readonly text: string;
  readonly hint: string | null;
}

interface Past {
  readonly file: string;
  readonly document: unknown;
}

export type Room = "workspace" | "library";
export type Middle = "prompt" | "time" | "wire" | "compare" | "talk" | "try";
export type Side = "why" | "notes" | "settings";
export type Pane = "files" | "middle" | "side";

const MOST_UNDONE = 100;
const UNDO_JOINS_MS = 800;
const MOST_WAITED_MS = 10_000;

const NOTHING: readonly VerdictView[] = [];

class Session {
  workspace = $state.raw<Workspace | null>(null);
  files = $state.raw<readonly FileView[]>([]);
  settings = $state.raw<SettingsView | null>(null);
  inspection = $state.raw<InspectionView | null>(null);
  tookMs = $state(0);
  shownMs = $state(0);
  /** Raised with every inspection. */
  revision = $state(0);
  connection = $state<LiveState>("connecting");
  notice = $state.raw<Notice | null>(null);
  failure = $state.raw<ProblemView | null>(null);

  room = $state<Room>("workspace");
  active = $state<string | null>(null);
  middle = $state<Middle>("prompt");
  side = $state<Side>("why");
  pane = $state<Pane>("middle");
  /** The field that has the focus: everything that it became is shown. */
  focused = $state.raw<Place | null>(null);
  /** A place that a view is asked to show; a new object each time. */
  revealed = $state.raw<Place | null>(null);
  /** The entry whose verdict is open. */
  verdict = $state.raw<string | null>(null);
  /** A message that the prompt is asked to show. */
  shownMessage = $state.raw<{ readonly index: number } | null>(null);
  saving = $state<string | null>(null);

  readonly opened = new SvelteMap<string, Opened>();
  #undo: Past[] = [];
  #redo: Past[] = [];
  #lastEdit = { key: "", at: 0 };
  /** Whether to ask for the workspace again when nothing is on its way any more. */
  #stale = false;
  /** Changes that were made here. */
  #made = 0;
  #live: Live | null = null;

  readonly lit: ReadonlySet<number> = $derived.by(() => {
    const place = this.focused;
    const out = new Set<number>();
    if (!place) return out;
    this.inspection?.origins.forEach((origin, index) => {
      if (origin.file === place.file && origin.path.length && startsWith(origin.path, place.path)) out.add(index);
    });
    return out;
  });
  readonly findings: readonly FindingView[] = $derived(
    distinct([
      ...this.files.flatMap((file) => file.findings.filter((finding) => file.used || finding.severity === "error")),
      ...(this.inspection?.notes ?? []),
    ]),
  );
  /** Messages of the chat. */
  readonly turns: number = $derived(this.inspection?.turns ?? this.workspace?.turns ?? 0);
  readonly verdicts: readonly VerdictView[] = $derived(this.inspection?.verdicts ?? NOTHING);
  readonly verdictByPlace: ReadonlyMap<string, VerdictView> = $derived(
    new Map(this.verdicts.filter((verdict) => verdict.file !== null).map((verdict) => [placeKey(verdict.file!, verdict.path), verdict])),
  );
  readonly activeFile: FileView | null = $derived(this.files.find((file) => file.id === this.active) ?? null);

  async start(connectTo: () => Socket): Promise<void> {
    const events: LiveEvents = {
      reply: (reply, waited) => this.#reply(reply, waited),
      failure: ({ error, files }) => {
        this.failure = error;
        this.#files(files);
      },
      files: ({ files }) => this.#files(files),
      shared: (change) => this.#shared(change),
      state: (state, lost) => {
        this.connection = state;
        if (lost) void this.reload();
      },
    };
    this.#live = new Live(events, connectTo);
    this.#live.start();
    await this.reload();
  }

  /** Ask again for all that the service holds. */
  async reload(): Promise<void> {
    try {
      await this.take(await api.workspace());
    } catch (error) {
      this.complain(error);
    }
  }

  /** Have what another page changed, which the service has already. What was typed here meanwhile is later than that. */
  #shared({ edits = [], settings, reload }: SharedChange): void {
    if (reload || this.#live?.changing) {
      this.#stale = true;
      void this.#refresh();
      return;
    }
    this.#made += 1;
    for (const edit of edits) {
      const opened = this.opened.get(edit.file);
      if (opened) this.opened.set(edit.file, { document: withEdit(opened.document, edit), text: null });
      const rebase = (past: Past): Past => (past.file === edit.file ? { ...past, document: withEdit(past.document, edit) } : past);
      this.#undo = this.#undo.map(rebase);
      this.#redo = this.#redo.map(rebase);
    }
    if (settings) this.#have(settings);
    this.#live?.send([]);
  }

  /** Ask for all again, unless the service does not have what was changed here: its answer leads here once more. */
  async #refresh(): Promise<void> {
    if (!this.#stale || this.#live?.changing) return;
    this.#stale = false;
    const before = new Map(this.opened);
    await this.reload();
    const isOther = (past: Past): boolean => !equal(before.get(past.file)?.document, this.document(past.file));
    this.#undo = this.#undo.filter((past) => !isOther(past));
    this.#redo = this.#redo.filter((past) => !isOther(past));
    this.#live?.send([]);
  }

  async take(workspace: Workspace): Promise<void> {
    this.workspace = workspace;
    this.files = workspace.files;
    this.settings = workspace.settings;
    const ids = new Set(workspace.files.map((file) => file.id));
    for (const id of [...this.opened.keys()]) if (!ids.has(id)) this.opened.delete(id);
    [this.#undo, this.#redo] = [this.#undo.filter((past) => ids.has(past.file)), this.#redo.filter((past) => ids.has(past.file))];
    if (!this.active || !ids.has(this.active)) {
      const used = workspace.files.filter((file) => file.used);
      this.active = (used.find((file) => file.kind === "character") ?? used[0] ?? workspace.files[0])?.id ?? null;
    }
    await Promise.all([...this.opened.keys()].map((id) => this.load(id, true)));
  }

  /** Have a file's document at hand. */
  async load(id: string, again = false): Promise<void> {
    if (!again && this.opened.has(id)) return;
    try {
      const made = this.#made;
      const { document, text } = await api.openFile(id);
      // What was typed while it came is newer.
      if (made !== this.#made && this.opened.has(id)) this.#stale = true;
      else if (!equal(this.opened.get(id), { document, text })) this.opened.set(id, { document, text });
    } catch (error) {
      this.complain(error);
    }
  }

  document(id: string): unknown {
    return this.opened.get(id)?.document;
  }

  /** Change the value at a place. */
  edit(file: string, path: Path, value: unknown): void {
    this.applyAll([{ file, path, value }], path.join("\u0000"));
  }

  /** Write a file that cannot be read as it is: the service says what it is then. */
  write(file: string, text: string): void {
    this.#made += 1;
    this.opened.set(file, { document: null, text });
    this.#live?.send([{ file, path: [], value: text }]);
  }

  /** Change several values as one step. */
  editAll(file: string, changes: readonly { readonly path: Path; readonly value: unknown }[]): void {
    this.applyAll(changes.map(({ path, value }) => ({ file, path, value })));
  }

  /** Make several edits of one file as one step; with a key those of one field join. */
  applyAll(edits: readonly Edit[], key = ""): void {
    const file = edits[0]?.file;
    if (file === undefined) return;
    this.#remember(file, key);
    this.#set(file, (document) => edits.reduce(withEdit, document));
    this.#live?.send(edits);
  }

  remove(file: string, path: Path): void {
    this.applyAll([{ file, path, remove: true }]);
  }

  insert(file: string, path: Path, value: unknown): void {
    this.applyAll([{ file, path, value, insert: true }]);
  }

  /** Make a document another one by the smallest changes. */
  replace(file: string, document: unknown): void {
    this.#remember(file, "\u0000raw");
    this.#become(file, document);
  }

  apply(fix: Edit): void {
    void this.load(fix.file).then(() => this.applyAll([fix]));
  }

  /** Put entries into another book, and with `move` out of this one. */
  async copyEntries(file: string, paths: readonly Path[], to: string, move: boolean): Promise<void> {
    await this.settled();
    await this.load(to);
    this.applyAll((await api.entries({ file, paths, to })).edits);
    // From the last, so that the indexes before it stay.
    if (move) this.applyAll(paths.toReversed().map((path) => ({ file, path, remove: true })));
  }

  /** Begin a new file, and go to it. */
  async begin(kind: Kind): Promise<void> {
    await this.settled();
    const file = await api.begin(kind);
    await this.reload();
    this.show(file.id, []);
    this.#live?.send([]);
  }

  /** Open something else of the SillyTavern folder, and go to its card. */
  async choose(choice: InstallChoice): Promise<void> {
    await this.settled();
    const workspace = await api.choose(choice);
    this.active = null;
    await this.take(workspace);
    this.#live?.send([]);
  }

  async repaint(id: string, picture: File): Promise<void> {
    await this.settled();
    this.#files([(await api.repaint(id, picture)).file]);
  }

  undo(): void {
    this.#travel(this.#undo, this.#redo);
  }

  redo(): void {
    this.#travel(this.#redo, this.#undo);
  }

  set(settings: SettingsChange): void {
    if (!this.settings) return;
    this.#have(settings);
    this.#live?.send([], settings);
  }

  #have(settings: SettingsChange): void {
    if (!this.settings) return;
    this.settings = { ...this.settings, ...settings };
    if (settings.used || settings.persona !== undefined) {
      const used = new Set([...this.settings.used, this.settings.persona]);
      this.files = this.files.map((file) => (file.used === used.has(file.id) ? file : { ...file, used: used.has(file.id) }));
    }
  }

  use(id: string, used: boolean): void {
    const before = this.settings?.used ?? [];
    const isPersona = this.files.find((file) => file.id === id)?.kind === "persona";
    if (isPersona) this.set({ persona: used ? id : null, used: before.filter((other) => other !== id) });
    else this.set({ used: used ? [...before, id] : before.filter((other) => other !== id) });
  }

  /** Show a place: its file, and the field in it. */
  show(file: string, path: Path): void {
    this.room = "workspace";
    this.active = file;
    this.pane = "files";
    this.revealed = { file, path };
  }

  showOrigin(origin: OriginView): void {
    if (origin.file) this.show(origin.file, origin.path);
    else if (origin.asset === "message") document.getElementById("message")?.focus();
  }

  showVerdict(id: string): void {
    this.room = "workspace";
    this.verdict = id;
    this.side = "why";
    this.pane = "side";
  }

  showMessage(index: number): void {
    this.middle = "prompt";
    this.pane = "middle";
    this.shownMessage = { index };
  }

  /** Wait until the service has all that was changed, or does not answer. */
  async settled(): Promise<void> {
    const until = performance.now() + MOST_WAITED_MS;
    while (this.#live?.waiting && this.connection === "open" && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async saved(id: string): Promise<void> {
    await this.settled();
    const { file, backup } = await api.save(id);
    this.#files([file]);
    this.say("good", t("saved", { name: file.name }), backup ? t("saved.backup", { name: backup }) : null);
  }

  /** End a conflict with another program. */
  async resolve(id: string, resolution: ConflictEnd): Promise<void> {
    await this.settled();
    this.#files([(await api.resolve(id, resolution)).file]);
    if (!this.files.find((file) => file.id === id)?.changed) this.saving = null;
    await this.load(id, true);
    this.#live?.send([]);
  }

  async revert(id: string): Promise<void> {
    await this.settled();
    this.#remember(id, "");
    this.#files([(await api.revert(id)).file]);
    await this.load(id, true);
    this.#live?.send([]);
  }

  /** Open more files, and go to the last of them; `aside` without going there. */
  async add(files: Iterable<File>, aside = false): Promise<void> {
    for (const content of files) {
      try {
        const file = await api.addFile(content);
        await this.reload();
        if (aside) continue;
        this.active = file.id;
        this.pane = "files";
      } catch (error) {
        this.complain(error);
      }
    }
    this.#live?.send([]);
  }

  say(kind: Notice["kind"], text: string, hint: string | null = null): void {
    const notice = { kind, text, hint };
    this.notice = notice;
    if (kind === "good") setTimeout(() => (this.notice = this.notice === notice ? null : this.notice), 4000);
  }

  /** Do something, and say what went wrong. */
  async tried(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.complain(error);
    }
  }

  complain(error: unknown): void {
    if (error instanceof DOMException && error.name === "AbortError") return;
    if (error instanceof api.ProblemError) this.say("bad", problemText(error.problem.code, error.problem.message), error.problem.hint && said(error.problem.hint));
    else this.say("bad", error instanceof Error ? error.message : String(error));
  }

  #reply(reply: LiveReply, waitedMs: number): void {
    const began = performance.now();
    this.inspection = updated(this.inspection, reply.inspection);
    this.tookMs = reply.took_ms;
    this.failure = null;
    this.revision += 1;
    this.#files(reply.files);
    void this.#refresh();
    if (this.settings) this.settings = { ...this.settings, ...reply.settings };
    requestAnimationFrame(() => setTimeout(() => (this.shownMs = waitedMs + performance.now() - began)));
  }

  #files(changed: readonly FileView[]): void {
    if (!changed.length) return;
    const byId = new Map(changed.map((file) => [file.id, file]));
    const isOther = this.files.filter((file) => this.opened.has(file.id) && (byId.get(file.id)?.kind ?? file.kind) !== file.kind);
    for (const { id } of isOther) void this.load(id, true);
    this.files = this.files.map((file) => byId.get(file.id) ?? file);
  }

  #set(file: string, change: (document: unknown) => unknown): void {
    this.#made += 1;
    const before = this.opened.get(file);
    this.opened.set(file, { document: change(before?.document), text: null });
    if (!this.files.find((view) => view.id === file)?.changed) {
      this.files = this.files.map((view) => (view.id === file ? { ...view, changed: true } : view));
    }
  }

  #become(file: string, document: unknown): void {
    const edits = differences(this.document(file), document).map((difference): Edit => ({ file, ...difference }));
    if (!edits.length) return;
    this.#set(file, () => document);
    this.#live?.send(edits);
  }

  // Typing in one field is one step.
  #remember(file: string, key: string): void {
    const now = performance.now();
    const joins = key !== "" && this.#lastEdit.key === `${file}\u0000${key}` && now - this.#lastEdit.at < UNDO_JOINS_MS;
    this.#lastEdit = { key: `${file}\u0000${key}`, at: now };
    if (joins) return;
    this.#undo = [...this.#undo.slice(-MOST_UNDONE + 1), { file, document: this.document(file) }];
    this.#redo = [];
  }

  #travel(from: Past[], to: Past[]): void {
    const past = from.pop();
    if (!past) return;
    to.push({ file: past.file, document: this.document(past.file) });
    this.#lastEdit = { key: "", at: 0 };
    this.#become(past.file, past.document);
    this.active = past.file;
  }
}

/** Findings without those that say the same of the same place again, or of no place what is said of one. */
function distinct(findings: readonly FindingView[]): readonly FindingView[] {
  const placed = new Set(findings.filter((one) => one.path.length).map((one) => `${one.file} ${one.message}`));
  const all = findings.filter((one) => one.path.length || !placed.has(`${one.file} ${one.message}`));
  return [...new Map(all.map((one) => [`${one.file} ${one.path.join("\u0000")} ${one.message} ${one.line}:${one.column}`, one])).values()];
}

export const placeKey = (file: string, path: Path): string => `${file}\u0000${path.join("\u0000")}`;

export const session = new Session();
