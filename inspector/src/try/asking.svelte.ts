/** One question to a model: its answer as it comes, which may be stopped, and what came of it. */

import * as api from "../api/client.ts";
import type { InspectionView, ProblemView, TalkAnswer, TalkDelta, TalkEnd } from "../api/types.ts";

/** An answer, whole, stopped or refused. Times are in milliseconds: until the first words came, and until the last did. */
export interface Outcome extends TalkAnswer {
  readonly plan: InspectionView | null;
  readonly firstMs: number | null;
  readonly tookMs: number;
  readonly stopped: boolean;
  readonly problem: ProblemView | null;
}

export type Answering = (signal: AbortSignal) => AsyncGenerator<TalkDelta | TalkEnd>;

const NOTHING: TalkAnswer = { message: "", thoughts: "", refusal: "", calls: [], finish: null, input_tokens: null, output_tokens: null };

const problemOf = (error: unknown): ProblemView =>
  error instanceof api.ProblemError ? error.problem : { code: "unavailable", message: error instanceof Error ? error.message : String(error), hint: null, where: null };

export class Asking {
  running = $state(false);
  heard = $state("");
  #stop: AbortController | null = null;

  async ask(answering: Answering): Promise<Outcome> {
    const stop = (this.#stop = new AbortController());
    this.running = true;
    this.heard = "";
    let answer: TalkAnswer | null = null;
    let plan: InspectionView | null = null;
    let problem: ProblemView | null = null;
    let firstMs: number | null = null;
    const since = performance.now();
    try {
      for await (const part of answering(stop.signal)) {
        if ("plan" in part) ({ plan, ...answer } = part);
        else {
          firstMs ??= performance.now() - since;
          this.heard += part.text;
        }
      }
    } catch (error) {
      if (!stop.signal.aborted) problem = problemOf(error);
    }
    this.running = false;
    return { ...(answer ?? { ...NOTHING, message: this.heard }), plan, firstMs, tookMs: performance.now() - since, stopped: stop.signal.aborted, problem };
  }

  stop(): void {
    this.#stop?.abort();
  }
}
