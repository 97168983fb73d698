/** Answers that were tried, each with what it was asked by and the fingerprint of its prompt. Values all of it. */

import type { TalkModel, TalkRequest, Variation } from "../api/types.ts";
import { type Choice, patchOf } from "../compare/choice.ts";
import { FORMS, type FormField } from "../files/forms.ts";
import type { Outcome } from "./asking.svelte.ts";

export type Options = Readonly<Record<string, unknown>>;

/** What is asked of both sides: the functions that a model may call, and the schema of its answer. */
export interface Shape {
  readonly tools: unknown;
  readonly schema: unknown;
}

/** An answer, and what asked for it; its plan is there as long as the page is. */
export interface Tried extends Outcome {
  readonly id: number;
  readonly route: string;
  readonly options: Options;
  readonly fingerprint: string | null;
  /** Whether an answer that has a schema is JSON; null where it has none. */
  readonly isJson: boolean | null;
}

export const MOST_ANSWERS = 20;

/** The fields of the options that a model takes, as presets have them. */
export const optionFields = (model: TalkModel | undefined): readonly FormField[] =>
  FORMS.preset.filter(({ name, group }) => group === "sampling" && (model?.options.includes(name) ?? false));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);

/** What is sent: options that the model does not take stay behind. */
export function requestOf(model: TalkModel | undefined, choice: Choice, options: Options, shape: Shape): TalkRequest {
  const taken = Object.entries(options).filter(([name]) => model?.options.includes(name) ?? false);
  const settings = patchOf(choice);
  const variation: Variation = { ...(Object.keys(settings).length ? { settings } : {}), saved: choice.saved };
  const form = isRecord(shape.schema) ? { response_format: { type: "json_schema", json_schema: { name: "answer", schema: shape.schema } } } : {};
  const tools = (Array.isArray(shape.tools) ? (shape.tools as unknown[]) : shape.tools === undefined ? [] : [shape.tools]).filter(isRecord);
  return { route: model?.name ?? null, variation, options: { ...Object.fromEntries(taken), ...form }, ...(tools.length ? { tools } : {}) };
}

/** Whether a text is JSON, as an answer by a schema is. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The answers with one more, the newest first. */
export const withAnswer = (answers: readonly Tried[], answer: Tried): readonly Tried[] => [answer, ...answers].slice(0, MOST_ANSWERS);

/** One side as a browser keeps it; plans, which are large, are not in it. */
export interface KeptSide {
  readonly route: string;
  readonly choice: Choice;
  readonly options: Options;
  readonly answers: readonly Tried[];
}

export interface KeptTrial {
  readonly sides: readonly KeptSide[];
  readonly shape: Shape;
}

export const written = ({ sides, shape }: KeptTrial): string =>
  JSON.stringify({ shape, sides: sides.map((side) => ({ ...side, answers: side.answers.map((answer) => ({ ...answer, plan: null })) })) });

/** What such a text holds; null where it holds nothing. */
export function read(text: string | null): KeptTrial | null {
  try {
    const value = JSON.parse(text ?? "") as KeptTrial;
    return isRecord(value.shape) && Array.isArray(value.sides) && value.sides.every((side) => isRecord(side) && isRecord(side["choice"]) && isRecord(side["options"]) && Array.isArray(side["answers"])) ? value : null;
  } catch {
    return null;
  }
}
