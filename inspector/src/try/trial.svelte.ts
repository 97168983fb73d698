/** The trial: two ways of asking for an answer to one message, and what came of each. It outlives the view that shows it. */

import * as api from "../api/client.ts";
import type { InspectionView, ProblemView, TalkAnswer, TalkModel } from "../api/types.ts";
import type { Choice } from "../compare/choice.ts";
import { session } from "../state/session.svelte.ts";
import { isJson, MOST_ANSWERS, type Options, read, requestOf, type Shape, type Tried, withAnswer, written } from "./answers.ts";

const EMPTY: TalkAnswer = { message: "", thoughts: "", refusal: "", calls: [], finish: null, input_tokens: null, output_tokens: null };

/** One side: what is other than now, who answers, and the answers so far. */
export class Variant {
  choice = $state.raw<Choice>({ saved: false });
  route = $state("");
  options = $state.raw<Options>({});
  answers = $state.raw<readonly Tried[]>([]);
  running = $state(false);
  heard = $state("");
  #stop: AbortController | null = null;

  constructor(readonly name: "A" | "B") {}

  readonly model: TalkModel | undefined = $derived(trial.models.find((one) => one.name === this.route) ?? trial.models[0]);

  set(name: string, value: unknown): void {
    const rest = Object.entries(this.options).filter(([one]) => one !== name);
    this.options = Object.fromEntries(value === null || value === undefined ? rest : [...rest, [name, value]]);
    trial.keep();
  }

  async run(): Promise<void> {
    if (this.running) return;
    this.running = true;
    this.heard = "";
    this.#stop = new AbortController();
    const { model, options } = this;
    const request = requestOf(model, this.choice, options, trial.shape);
    let [answer, plan, problem, firstMs, since]: [TalkAnswer | null, InspectionView | null, ProblemView | null, number | null, number] = [null, null, null, null, 0];
    try {
      await session.settled();
      since = performance.now();
      for await (const part of api.talk(request, this.#stop.signal)) {
        if ("plan" in part) ({ plan, ...answer } = part);
        else {
          firstMs ??= performance.now() - since;
          this.heard += part.text;
        }
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) problem = problemOf(error);
    }
    const message = answer?.message ?? this.heard;
    this.answers = withAnswer(this.answers, {
      ...(answer ?? EMPTY),
      message,
      id: Math.max(0, ...trial.variants.flatMap((variant) => variant.answers.map(({ id }) => id))) + 1,
      route: model?.name ?? "",
      options: request.options ?? {},
      plan,
      fingerprint: plan?.fingerprint ?? null,
      firstMs,
      tookMs: performance.now() - since,
      stopped: this.#stop.signal.aborted,
      problem,
      isJson: trial.shape.schema === undefined || answer === null ? null : isJson(message),
    });
    this.running = false;
    trial.keep();
  }

  stop(): void {
    this.#stop?.abort();
  }

  forget(): void {
    this.answers = [];
    trial.keep();
  }
}

const problemOf = (error: unknown): ProblemView =>
  error instanceof api.ProblemError ? error.problem : { code: "unavailable", message: error instanceof Error ? error.message : String(error), hint: null, where: null };

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
    for (const variant of this.variants) variant.stop();
  }
}

export const trial = new Trial();
