/** Which message of the prompt a message of the chat became. */

import type { InspectionView, KeyMatch } from "../api/types.ts";

/** The index of the prompt's message that has the text in which a key matched; null where it is not in the prompt. */
export function chatMessage(inspection: InspectionView, at: KeyMatch | null): number | null {
  if (at?.where !== "chat") return null;
  const { message } = at;
  const wanted = new Set<number>();
  inspection.origins.forEach(({ asset, path }, index) => {
    if (message === null ? asset === "message" : asset === "history" && path.includes(message)) wanted.add(index);
  });
  const found = inspection.messages.find(({ pieces }) => pieces.some(({ origin }) => origin !== null && wanted.has(origin)));
  return found?.index ?? null;
}
