/** Cases of a template: values, and what its text or an answer to it must say. A browser keeps them; an address carries one. */

import type { RenderedView } from "../api/types.ts";
import { unitOffsets } from "../format/text.ts";

export type Values = Readonly<Record<string, unknown>>;

export interface Case {
  readonly name: string;
  readonly values: Values;
  /** What must be there, and what must not; empty: whatever. */
  readonly has: string;
  readonly lacks: string;
  /** Of the template's text, or of a model's answer to it and this message. */
  readonly of: "text" | "answer";
  readonly message: string;
}

export const MOST_CASES = 50;

export interface Piece {
  readonly text: string;
  readonly variable: string | null;
}

/** A rendered text by what its runs are of. */
export function pieces(text: string, ranges: RenderedView["ranges"]): readonly Piece[] {
  const ends = unitOffsets(text, ranges.map(([end]) => end));
  const known = ranges.map(([, variable], index) => ({ text: text.slice(ends[index - 1] ?? 0, ends[index]), variable }));
  const rest = text.slice(ends.at(-1) ?? 0);
  return [...known, ...(rest ? [{ text: rest, variable: null }] : [])].filter((piece) => piece.text);
}

/** What a text lacks of what a case wants of it; null where it has all. */
export function missed({ has, lacks }: Case, text: string): "has" | "lacks" | null {
  const plain = text.toLowerCase();
  if (has && !plain.includes(has.toLowerCase())) return "has";
  return lacks && plain.includes(lacks.toLowerCase()) ? "lacks" : null;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** The cases that a text holds; what is none is left out. */
export function read(written: string | null): readonly Case[] {
  try {
    const all: unknown = JSON.parse(written ?? "[]");
    return (Array.isArray(all) ? (all as unknown[]) : []).filter(isRecord).slice(0, MOST_CASES).map((one) => ({
      name: text(one["name"]),
      values: isRecord(one["values"]) ? one["values"] : {},
      has: text(one["has"]),
      lacks: text(one["lacks"]),
      of: one["of"] === "answer" ? "answer" : "text",
      message: text(one["message"]),
    }));
  } catch {
    return [];
  }
}

/** Values as an address carries them; those of an address that has none are empty. */
export const writtenValues = (values: Values): string | null => (Object.keys(values).length ? JSON.stringify(values) : null);

export function readValues(written: string | null): Values {
  try {
    const values: unknown = JSON.parse(written ?? "{}");
    return isRecord(values) ? values : {};
  } catch {
    return {};
  }
}
