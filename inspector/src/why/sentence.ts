/** Why an entry is in or out, as a sentence of the page: with the message of the chat in it where there is one. */

import type { VerdictView } from "../api/types.ts";
import { reasonText, t } from "../words/words.svelte.ts";

export function verdictText({ reason, parameters, at }: VerdictView, tavern: string): string {
  const inChat = at?.where === "chat" ? { place: at.message === null ? t("place.now") : t("place.message", { n: at.message + 1 }) } : {};
  return reasonText(tavern, reason, { ...parameters, ...inChat });
}
