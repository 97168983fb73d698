/** An inspection brought up to date: what did not change stays the same object, so that only the rest is drawn again. */

import type { Inspection, InspectionUpdate, MessageView, Verdict } from "../api/types.ts";

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

export function updated(before: Inspection | null, update: InspectionUpdate): Inspection {
  const { messages, verdicts, messages_changed, verdicts_changed, ...rest } = update;
  const oldMessages: readonly MessageView[] = before?.messages ?? [];
  const oldVerdicts: readonly Verdict[] = before?.verdicts ?? [];
  return {
    ...rest,
    origins: before ? reused(before.origins, rest.origins) : rest.origins,
    messages: messages ? reused(oldMessages, messages) : messages_changed ? patched(oldMessages, messages_changed) : oldMessages,
    verdicts: verdicts ? reused(oldVerdicts, verdicts) : verdicts_changed ? patched(oldVerdicts, verdicts_changed) : oldVerdicts,
  };
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
