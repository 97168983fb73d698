/** The live connection: changes go out as they are made, and the newest prompt comes back.
 *
 * One request is on its way at a time and what is changed meanwhile goes with the next, so that a slow build delays no
 * keystroke and nothing piles up.
 */

import type { Edit, LiveFailure, LiveFiles, LiveReply, LiveRequest, LiveShared, SettingsChange, SharedChange } from "./types.ts";

export type LiveState = "connecting" | "open" | "closed";

export interface LiveEvents {
  reply(reply: LiveReply, waitedMs: number): void;
  failure(failure: LiveFailure): void;
  files(files: LiveFiles): void;
  /** Another page changed something. */
  shared(change: SharedChange): void;
  state(state: LiveState, lost: boolean): void;
}

/** What the connection needs of a WebSocket. */
export interface Socket {
  readyState: number;
  onopen: (() => void) | null;
  onclose: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  send(text: string): void;
  close(): void;
}

const OPEN = 1;
const RETRY_FIRST_MS = 250;
const RETRY_LAST_MS = 5000;
/** A request that has no answer for so long no longer holds back the next. */
const PATIENCE_MS = 4000;

export class Live {
  #socket: Socket | null = null;
  #serial = 0;
  #answered = 0;
  #sentAt = 0;
  #changedAt = 0;
  #edits: Edit[] = [];
  #settings: SettingsChange | null = null;
  #wanted = false;
  /** The newest request that has changes in it. */
  #change = 0;
  #retry = RETRY_FIRST_MS;
  #ended = false;
  #scheduled = false;

  constructor(
    private readonly events: LiveEvents,
    private readonly connectTo: () => Socket,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Connect, and stay connected. */
  start(): void {
    this.events.state("connecting", false);
    const socket = this.connectTo();
    this.#socket = socket;
    socket.onopen = () => {
      this.#retry = RETRY_FIRST_MS;
      this.events.state("open", false);
      this.#wanted = true;
      this.#flush();
    };
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(String(data)) as LiveReply | LiveFailure | LiveFiles | LiveShared);
    socket.onclose = () => {
      const lost = this.#answered < this.#serial;
      this.#answered = this.#serial;
      this.#socket = null;
      this.events.state("closed", lost);
      if (this.#ended) return;
      setTimeout(() => this.start(), this.#retry);
      this.#retry = Math.min(this.#retry * 2, RETRY_LAST_MS);
    };
  }

  stop(): void {
    this.#ended = true;
    this.#socket?.close();
  }

  /** Change something. Several changes of one moment go together; of two settings of one place the later goes. */
  send(edits: readonly Edit[], settings?: SettingsChange): void {
    if (!this.#wanted) this.#changedAt = this.now();
    for (const edit of edits) {
      const last = this.#edits.at(-1);
      if (last && replaces(edit, last)) this.#edits.pop();
      this.#edits.push(edit);
    }
    if (settings) this.#settings = { ...this.#settings, ...settings };
    this.#wanted = true;
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  get waiting(): boolean {
    return this.#wanted || this.#answered < this.#serial;
  }

  /** Whether changes of this page have not come in yet. */
  get changing(): boolean {
    return this.#edits.length > 0 || this.#settings !== null || this.#answered < this.#change;
  }

  #flush(): void {
    if (!this.#wanted || this.#socket?.readyState !== OPEN) return;
    if (this.#answered < this.#serial && this.now() - this.#sentAt < PATIENCE_MS) return;
    this.#serial += 1;
    const request: LiveRequest = { serial: this.#serial, edits: this.#edits, ...(this.#settings ? { settings: this.#settings } : {}) };
    if (this.#edits.length || this.#settings) this.#change = this.#serial;
    this.#edits = [];
    this.#settings = null;
    this.#wanted = false;
    this.#sentAt = this.now();
    this.#socket.send(JSON.stringify(request));
  }

  #receive(answer: LiveReply | LiveFailure | LiveFiles | LiveShared): void {
    if ("shared" in answer) {
      this.events.shared(answer.shared);
      return;
    }
    if (!("error" in answer) && !("inspection" in answer)) {
      this.events.files(answer);
      return;
    }
    if (answer.serial < this.#serial || answer.serial <= this.#answered) return;
    this.#answered = answer.serial;
    const since = this.#changedAt || this.#sentAt;
    this.#flush();
    if ("error" in answer) this.events.failure(answer);
    else this.events.reply(answer, this.now() - since);
  }
}

const replaces = (edit: Edit, last: Edit): boolean =>
  edit.file === last.file && !edit.remove && !last.remove && !edit.insert && !last.insert && JSON.stringify(edit.path) === JSON.stringify(last.path);
