/** What was left out, by the message that it would have stood before. */

import type { Trim } from "../api/types.ts";

/** The key is the index of a message, or the number of messages for what would have stood at the end. */
export function trimsBefore(trims: readonly Trim[], messages: number): ReadonlyMap<number, readonly Trim[]> {
  const out = new Map<number, Trim[]>();
  for (const trim of trims) {
    const at = trim.before ?? messages;
    const group = out.get(at);
    if (group) group.push(trim);
    else out.set(at, [trim]);
  }
  return out;
}
