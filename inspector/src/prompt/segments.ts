/** A message's text as segments to draw: pieces by origin, cut where something is marked, hidden characters apart. */

import type { PieceView } from "../api/types.ts";
import { runs } from "../format/text.ts";

export interface Segment {
  readonly text: string;
  readonly origin: number | null;
  readonly marked: boolean;
  readonly hidden: boolean;
}

export const textOf = (pieces: readonly PieceView[]): string => pieces.map((piece) => piece.text).join("");

/** At most `limit` characters of the pieces; `mark` is a range of the whole text. */
export function segments(pieces: readonly PieceView[], mark: readonly [number, number] | null, limit: number): Segment[] {
  const out: Segment[] = [];
  let at = 0;
  for (const { text, origin } of pieces) {
    if (at >= limit) break;
    const shown = text.slice(0, limit - at);
    const cuts = mark ? [mark[0] - at, mark[1] - at].filter((cut) => cut > 0 && cut < shown.length) : [];
    let from = 0;
    for (const to of [...cuts, shown.length]) {
      const marked = mark !== null && at + from >= mark[0] && at + to <= mark[1];
      for (const run of runs(shown.slice(from, to))) {
        if (run.text) out.push({ text: run.text, origin, marked, hidden: run.hidden });
      }
      from = to;
    }
    at += text.length;
  }
  return out;
}
