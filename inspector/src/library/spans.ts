/** A text in pieces by what counts in it. */

import { unitOffsets } from "../format/text.ts";

export interface Span {
  readonly start: number;
  readonly end: number;
  readonly category: string;
}

export interface Marked {
  readonly text: string;
  readonly categories: readonly string[];
}

/** The pieces of a text, each with the categories that spans of code points over it have. */
export function marked(text: string, spans: readonly Span[]): readonly Marked[] {
  const points = [...new Set(spans.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const units = unitOffsets(text, points);
  const edges = [[0, 0], ...points.map((point, index) => [point, units[index]!] as const), [Infinity, text.length]] as const;
  return edges.slice(1).flatMap(([point, unit], index) => {
    const [from, fromUnit] = edges[index]!;
    const categories = [...new Set(spans.filter((span) => span.start <= from && span.end >= point && span.end > span.start).map((span) => span.category))];
    return unit > fromUnit ? [{ text: text.slice(fromUnit, unit), categories: point === Infinity ? [] : categories }] : [];
  });
}
