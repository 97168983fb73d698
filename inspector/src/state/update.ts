/** An inspection brought up to date: what did not change stays the same object, so that only the rest is drawn again. */

import type { InspectionView, InspectionUpdate } from "../api/types.ts";

interface Patch<T> {
  readonly length: number;
  readonly changed: Readonly<Record<string, T>>;
}

/** A list with some of its items replaced and its length set. */
export function patched<T>(before: readonly T[], patch: Patch<T>): readonly T[] {
  const changed = Object.entries(patch.changed);
  if (!changed.length && patch.length === before.length) return before;
  const list = before.slice(0, patch.length);
  for (const [index, item] of changed) list[Number(index)] = item;
  return list;
}

/** A whole list that came again: items equal to those before are those before. */
export function reused<T extends object>(before: readonly T[], after: readonly T[]): readonly T[] {
  let same = before.length === after.length;
  const list = after.map((item, index) => {
    const old = before[index];
    if (old !== undefined && equal(old, item)) return old;
    same = false;
    return item;
  });
  return same ? before : list;
}

export function updated(before: InspectionView | null, update: InspectionUpdate): InspectionView {
  const { messages, verdicts, origins, trims, messages_changed, verdicts_changed, origins_changed, trims_changed, ...rest } = update;
  return {
    ...rest,
    messages: list(before?.messages, messages, messages_changed),
    verdicts: list(before?.verdicts, verdicts, verdicts_changed),
    origins: list(before?.origins, origins, origins_changed),
    trims: list(before?.trims, trims, trims_changed),
  };
}

/** A list that came whole, or as what changed in it. */
function list<T extends object>(before: readonly T[] = [], whole: readonly T[] | undefined, patch: Patch<T> | undefined): readonly T[] {
  return whole ? reused(before, whole) : patch ? patched(before, patch) : before;
}

/** Whether two JSON values are equal. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equal((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]));
}
