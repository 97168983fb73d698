/** Verdicts in the order and selection that is wanted. */

import type { VerdictView } from "../api/types.ts";

export type Sort = "state" | "index" | "title" | "order" | "tokens" | "reason";
export type Shown = "all" | "in" | "out";

export interface Wanted {
  readonly shown: Shown;
  readonly reason: string;
  readonly search: string;
  readonly sort: Sort;
  readonly down: boolean;
}

const ORDERS: Record<Sort, (a: VerdictView, b: VerdictView) => number> = {
  state: (a, b) => Number(b.fired) - Number(a.fired) || a.index - b.index,
  index: (a, b) => a.index - b.index,
  title: (a, b) => compareText(a.title, b.title),
  order: (a, b) => (a.order ?? Infinity) - (b.order ?? Infinity) || a.index - b.index,
  tokens: (a, b) => (a.tokens ?? -1) - (b.tokens ?? -1),
  reason: (a, b) => Number(b.fired) - Number(a.fired) || compareText(a.reason, b.reason),
};

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function selected(verdicts: readonly VerdictView[], { shown, reason, search, sort, down }: Wanted): readonly VerdictView[] {
  const wanted = search.trim().toLowerCase();
  const kept =
    shown === "all" && !reason && !wanted
      ? verdicts
      : verdicts.filter(
          (verdict) =>
            (shown === "all" || verdict.fired === (shown === "in")) &&
            (!reason || verdict.reason === reason) &&
            (!wanted ||
              verdict.title.toLowerCase().includes(wanted) ||
              (verdict.key ?? "").toLowerCase().includes(wanted) ||
              verdict.book.toLowerCase().includes(wanted) ||
              String(verdict.uid) === wanted ||
              Object.values(verdict.parameters).some((value) => value.toLowerCase().includes(wanted))),
        );
  if (sort === "index" && !down) return kept;
  const sorted = kept.toSorted(ORDERS[sort]);
  return down ? sorted.reverse() : sorted;
}

/** How many there are of each reason, the most common first. */
export function reasons(verdicts: readonly VerdictView[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const verdict of verdicts) counts.set(verdict.reason, (counts.get(verdict.reason) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}
