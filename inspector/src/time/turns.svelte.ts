/** The turns of the chat as they are known, the last first; those before them are asked for when somebody wants them. */

import * as api from "../api/client.ts";
import type { TurnView } from "../api/types.ts";
import { session } from "../state/session.svelte.ts";
import { equal } from "../state/update.ts";

/** Turns of one question: so that a key press never waits long for its answer. */
const AT_ONCE = 5;
const MORE = 100;

class ChatTurns {
  /** Those that are known, from number `first` on. */
  known = $state.raw<readonly TurnView[]>([]);
  first = $state(0);
  total = $state(0);
  provider = $state("");
  providers = $state.raw<readonly string[]>([]);
  loading = $state(false);
  ready = $state(false);
  /** The message of the turn that is looked at; null: the prompt as it is. */
  at = $state<number | null>(null);
  most = $state(MORE);

  /** Ask for the turns from the last on, until all that are wanted are known, or nobody wants them any more. */
  async load(isWanted: () => boolean): Promise<void> {
    let turns: readonly TurnView[] = [];
    let before: number | null = null;
    this.loading = true;
    try {
      do {
        const view = await api.timeline({ before, count: AT_ONCE, provider: this.provider });
        if (!isWanted()) return;
        this.providers = view.providers;
        this.total = view.total;
        this.provider = view.provider;
        turns = [...view.turns, ...turns];
        before = view.first;
        this.#show(turns, view.first);
      } while (before > 0 && turns.length < this.most);
      this.#show(turns, before, true);
    } finally {
      if (isWanted()) this.loading = false;
    }
  }

  /** Show new turns; until all have come, those that were known before stay in front of them. */
  #show(turns: readonly TurnView[], first: number, whole = false): void {
    const front = whole ? [] : this.known.slice(0, Math.max(first - this.first, 0));
    const before = new Map(this.known.map((turn) => [turn.message, turn]));
    this.known = [...front, ...turns].map((turn) => (equal(before.get(turn.message), turn) ? before.get(turn.message)! : turn));
    this.first = front.length ? this.first : first;
    this.ready = true;
  }

  more(): void {
    this.most += MORE;
  }

  /** The column of the turn that is looked at; the last is the prompt as it is. */
  readonly column: number = $derived.by(() => {
    const index = this.at === null ? -1 : this.known.findIndex((turn) => turn.message === this.at);
    return index < 0 ? this.known.length : index;
  });

  look(column: number): void {
    this.at = this.known[column]?.message ?? null;
  }

  /** Cut the chat where the turn that is looked at began. */
  go(): void {
    session.set({ turn: this.at === null ? null : this.at + 1 });
  }
}

export const chatTurns = new ChatTurns();
