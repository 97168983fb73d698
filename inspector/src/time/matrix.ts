/** The entries of a chat as rows, turn after turn; neighbouring turns of one kind are one run. */

import type { TurnEntryView, TurnView, VerdictView } from "../api/types.ts";

export const KINDS = ["key", "constant", "sticky", "timer", "chance", "lost"] as const;
export type EntryState = (typeof KINDS)[number];

export interface MatrixRow {
  readonly key: string;
  readonly book: string;
  readonly uid: string | number;
  readonly title: string;
  /** Whether another one has its title: then its book is said, too. */
  readonly twin: boolean;
  /** What it was at each column; it was out where there is none. */
  readonly cells: ReadonlyMap<number, TurnEntryView>;
  readonly fired: number;
}

export interface EntryRun {
  readonly from: number;
  readonly to: number;
  readonly kind: EntryState;
}

const STAYS = new Set(["sticky", "matched_before"]);
const TIMERS = new Set(["cooldown", "delay"]);

export function kindOf({ fired, reason }: TurnEntryView): EntryState {
  if (fired) return reason === "constant" ? "constant" : STAYS.has(reason) ? "sticky" : "key";
  return TIMERS.has(reason) ? "timer" : reason === "probability" ? "chance" : "lost";
}

const NEAR = new Set(["budget", "unplaced"]);

/** The verdicts of the prompt as it is that are in, or came near it. */
export const near = (verdicts: readonly VerdictView[]): readonly TurnEntryView[] =>
  verdicts.filter(({ fired, key, group, roll, timed, reason }) => fired || key !== null || group || roll || timed || NEAR.has(reason));

export const rowKey = (book: string, uid: string | number): string => `${book}\u0000${uid}`;

/** A row for each entry that was ever in or near, in the order in which they came; the last column is the prompt as it is. */
export function rowsOf(turns: readonly TurnView[], now: readonly TurnEntryView[]): readonly MatrixRow[] {
  const rows = new Map<string, { row: Omit<MatrixRow, "cells" | "fired" | "twin">; cells: Map<number, TurnEntryView>; fired: number }>();
  [...turns.map((turn) => turn.entries), now].forEach((entries, column) => {
    for (const entry of entries) {
      const key = rowKey(entry.book, entry.uid);
      const made = rows.get(key) ?? { row: { key, book: entry.book, uid: entry.uid, title: entry.title || String(entry.uid) }, cells: new Map(), fired: 0 };
      made.cells.set(column, entry);
      made.fired += Number(entry.fired);
      rows.set(key, made);
    }
  });
  const titles = new Map<string, number>();
  for (const { row } of rows.values()) titles.set(row.title, (titles.get(row.title) ?? 0) + 1);
  return [...rows.values()].map(({ row, cells, fired }) => ({ ...row, twin: titles.get(row.title)! > 1, cells, fired }));
}

/** The rows whose titles or books have all words of a search. */
export function matching(rows: readonly MatrixRow[], search: string): readonly MatrixRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length ? rows.filter(({ title, book }) => words.every((word) => `${title}\n${book}`.toLowerCase().includes(word))) : rows;
}

/** The runs of a row, in their order. */
export function runsOf({ cells }: Pick<MatrixRow, "cells">): readonly EntryRun[] {
  const out: EntryRun[] = [];
  for (const [column, entry] of cells) {
    const kind = kindOf(entry);
    const last = out.at(-1);
    if (last?.kind === kind && last.to === column - 1) out[out.length - 1] = { ...last, to: column };
    else out.push({ from: column, to: column, kind });
  }
  return out;
}
