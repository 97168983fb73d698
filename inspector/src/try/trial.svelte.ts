/** The trial: two ways of asking for an answer to one message, and what came of each. It outlives the view that shows it. */

import * as api from "../api/client.ts";
import type { TalkModel } from "../api/types.ts";
import type { Choice } from "../compare/choice.ts";
import { session } from "../state/session.svelte.ts";
import { isJson, MOST_ANSWERS, type Options, read, requestOf, type Shape, type Tried, withAnswer, written } from "./answers.ts";
import { Asking } from "./asking.svelte.ts";

/** One side: what is other than now, who answers, and the answers so far. */
export class Variant {
  choice = $state.raw<Choice>({ saved: false });
  route = $state("");
  options = $state.raw<Options>({});
  answers = $state.raw<readonly Tried[]>([]);
  readonly asking = new Asking();

  constructor(readonly name: "A" | "B") {}

  readonly model: TalkModel | undefined = $derived(trial.models.find((one) => one.name === this.route) ?? trial.models[0]);

  set(name: string, value: unknown): void {
    const rest = Object.entries(this.options).filter(([one]) => one !== name);
    this.options = Object.fromEntries(value === null || value === undefined ? rest : [...rest, [name, value]]);
    trial.keep();
  }

  async run(): Promise<void> {
    if (this.asking.running) return;
    const { model, options } = this;
    const request = requestOf(model, this.choice, options, trial.shape);
    const hasSchema = trial.shape.schema !== undefined;
    await session.settled();
    const outcome = await this.asking.ask((signal) => api.talk(request, signal));
    const isWhole = outcome.problem === null && !outcome.stopped;
    this.answers = withAnswer(this.answers, {
      ...outcome,
      id: Math.max(0, ...trial.variants.flatMap((variant) => variant.answers.map(({ id }) => id))) + 1,
      route: model?.name ?? "",
      options: request.options ?? {},
      fingerprint: outcome.plan?.fingerprint ?? null,
      isJson: hasSchema && isWhole ? isJson(outcome.message) : null,
    });
    trial.keep();
  }

  forget(): void {
    this.answers = [];
    trial.keep();
  }
}

class Trial {
  models = $state.raw<readonly TalkModel[]>([]);
  shape = $state.raw<Shape>({ tools: undefined, schema: undefined });
  readonly variants = [new Variant("A"), new Variant("B")] as const;
  #asked = false;
  #began = false;

  /** Where a tab keeps it: a page that is loaded again finds it there. */
  get #name(): string {
    return `innkeeper-inspector-try ${session.workspace?.title ?? ""}`;
  }

  /** Ask, once, who can be asked. */
  async meet(): Promise<void> {
    if (this.#asked) return;
    this.#asked = true;
    try {
      this.models = await api.models();
    } catch (error) {
      this.#asked = false;
      session.complain(error);
    }
  }

  /** Take up what this tab had before. */
  begin(): void {
    if (!this.#began) this.#restore();
    this.#began = true;
    void this.meet();
  }

  #restore(): void {
    let known = null;
    try {
      known = read(sessionStorage.getItem(this.#name));
    } catch {
      // A browser that keeps nothing.
    }
    if (!known) return;
    this.shape = known.shape;
    this.variants.forEach((variant, index) => {
      const { route = "", choice = { saved: false }, options = {}, answers = [] } = known.sides[index] ?? {};
      Object.assign(variant, { route, choice, options, answers: answers.slice(0, MOST_ANSWERS) });
    });
  }

  keep(): void {
    try {
      sessionStorage.setItem(this.#name, written({ shape: this.shape, sides: this.variants.map(({ route, choice, options, answers }) => ({ route, choice, options, answers })) }));
    } catch {
      // A browser that keeps nothing, or no more: it is there as long as the page is.
    }
  }

  /** Ask on both sides at once. */
  run(): void {
    for (const variant of this.variants) void variant.run();
  }

  stop(): void {
    for (const variant of this.variants) variant.asking.stop();
  }
}

export const trial = new Trial();
