/** The conversation: what is said and answered, in all its branches. It outlives the view that shows it. */

import { SvelteMap } from "svelte/reactivity";

import * as api from "../api/client.ts";
import type { FileView, InspectionView } from "../api/types.ts";
import { type ChatMessage, continued, messagesOf, NEW_CHAT } from "../files/chat.ts";
import { valueAt } from "../format/paths.ts";
import { session } from "../state/session.svelte.ts";
import * as branching from "./branches.ts";

/** Where a tab keeps the branches of a chat: a page that is loaded again finds them there. */
const kept = (chat: FileView): string => `innkeeper-inspector-talk ${session.workspace?.title ?? ""}/${chat.name} ${chat.id}`;

class Conversation {
  /** What was said and is being answered, and its answer as far as it is here. */
  asking = $state.raw<{ readonly said: string | null; readonly again: boolean } | null>(null);
  heard = $state("");
  route = $state("");
  #stop: AbortController | null = null;
  /** By the file of the chat. */
  readonly #branches = new SvelteMap<string, branching.Branches>();

  readonly chat = $derived(session.files.find((file) => file.kind === "chat" && file.used));
  readonly branches: branching.Branches = $derived(this.#branches.get(this.chat?.id ?? "") ?? this.#read() ?? branching.ONE);
  readonly here: branching.Branch = $derived(branching.openBranch(this.branches));
  readonly document: unknown = $derived(this.chat ? session.document(this.chat.id) : undefined);
  readonly messages: readonly ChatMessage[] = $derived(messagesOf(this.document));
  readonly forks: ReadonlyMap<number, readonly branching.Branch[]> = $derived(branching.forks(this.branches, this.document));

  textOf(message: ChatMessage): string {
    return String(valueAt(this.document, message.text) ?? "");
  }

  /** The answer that a message of the chat is; none where its text came from elsewhere. */
  answerAt(index: number): branching.Answer | null {
    const answer = this.here.answers.get(index);
    const message = this.messages[index];
    return answer && message && branching.shownSwipe(answer).text === this.textOf(message) ? answer : null;
  }

  /** Send what the composer says, or what was said last for another try. */
  async send(again: boolean): Promise<void> {
    if (this.asking) return;
    const said = again ? (this.here.last?.said ?? null) : session.settings?.message || null;
    if (!again) await this.keep();
    await session.settled();
    this.#stop = new AbortController();
    this.asking = { said, again };
    this.heard = "";
    let plan: InspectionView | null = null;
    try {
      for await (const part of api.talk({ message: said, route: this.route || null }, this.#stop.signal)) {
        if ("plan" in part) [plan, this.heard] = [part.plan, part.message];
        else this.heard += part.text;
      }
    } catch (error) {
      session.complain(error);
    }
    const text = this.heard;
    this.asking = null;
    if (text) this.#answered(said, { text, plan }, again);
  }

  stop(): void {
    this.#stop?.abort();
  }

  #answered(said: string | null, swipe: branching.Swipe, again: boolean): void {
    const { last } = this.here;
    const swipes = again && last ? [...last.swipes, swipe] : [swipe];
    this.#set(branching.withOpen(this.branches, { last: { said, swipes, shown: swipes.length - 1 } }));
  }

  /** Put the last exchange, as it is shown, into the chat: what is said next goes on from it. */
  async keep(): Promise<void> {
    const { last } = this.here;
    if (!last) return;
    const chat = await this.#file();
    if (!chat) return;
    for (const { path, value } of continued(this.document, last.said, branching.shownSwipe(last).text)) session.insert(chat, path, value);
    const answers = branching.withAnswer(this.here, this.messages.length - 1, { swipes: last.swipes, shown: last.shown });
    this.#set(branching.withOpen(this.branches, { last: null, answers }));
    session.set({ turn: null, ...(session.settings?.message === last.said ? { message: null } : {}) });
  }

  /** The file of the chat, which is made where there is none. */
  async #file(): Promise<string | null> {
    if (!this.chat) {
      const before = this.branches;
      await session.add([new File([NEW_CHAT], "talk.jsonl")], true);
      if (this.chat) this.#set(before);
    }
    if (this.chat) await session.load(this.chat.id);
    return this.chat?.id ?? null;
  }

  /** Show another try of the exchange, or of an answer in the chat. */
  turn(by: number, index: number | null): void {
    const { last, answers } = this.here;
    if (index === null) {
      if (last) this.#set(branching.withOpen(this.branches, { last: branching.turned(last, by) }));
      return;
    }
    const answer = branching.turned(answers.get(index)!, by);
    session.edit(this.chat!.id, this.messages[index]!.text, branching.shownSwipe(answer).text);
    this.#set(branching.withOpen(this.branches, { answers: branching.withAnswer(this.here, index, answer) }));
  }

  /** Reword a message of the chat; an answer keeps its plan. */
  reword(index: number, text: string): void {
    const answer = this.answerAt(index);
    if (answer) this.#set(branching.withOpen(this.branches, { answers: branching.withAnswer(this.here, index, branching.reworded(answer, text)) }));
    session.edit(this.chat!.id, this.messages[index]!.text, text);
  }

  /** Reword what was said last, or its answer. */
  rewordLast(what: "said" | "answer", text: string): void {
    const { last } = this.here;
    if (last) this.#set(branching.withOpen(this.branches, { last: what === "said" ? { ...last, said: text || null } : { ...last, ...branching.reworded(last, text) } }));
  }

  /** Go on in a new branch after so many messages; those after the chat's own are of the last exchange, which is kept then. */
  async branch(messages: number): Promise<void> {
    if (this.asking) return;
    if (messages > this.messages.length) await this.keep();
    if (this.chat) this.#go(branching.forked(this.branches, this.document, messages));
  }

  /** Go to another branch. */
  open(id: number): void {
    if (!this.asking && id !== this.branches.open) this.#go(branching.switched(this.branches, this.document, id));
  }

  #go(branches: branching.Branches): void {
    this.#set(branches);
    session.replace(this.chat!.id, branching.openBranch(branches).document);
    session.set({ turn: null, message: null });
  }

  #set(branches: branching.Branches): void {
    this.#branches.set(this.chat?.id ?? "", branches);
    try {
      if (this.chat) sessionStorage.setItem(kept(this.chat), branching.written(branches));
    } catch {
      // A browser that keeps nothing, or no more: they are there as long as the page is.
    }
  }

  #read(): branching.Branches | null {
    try {
      return this.chat ? branching.read(sessionStorage.getItem(kept(this.chat))) : null;
    } catch {
      return null;
    }
  }
}

export const conversation = new Conversation();
