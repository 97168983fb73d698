/** Where a card keeps its fields: V1 at the top, V2 and V3 in `data`. */

import { type Path, valueAt } from "../format/paths.ts";
import type { Word } from "../words/words.svelte.ts";

export interface CardField {
  readonly field: string;
  readonly word: Word;
  readonly kind: "line" | "text" | "tags";
}

export const CARD_FIELDS: readonly CardField[] = [
  { field: "name", word: "card.name", kind: "line" },
  { field: "nickname", word: "card.nickname", kind: "line" },
  { field: "description", word: "card.description", kind: "text" },
  { field: "personality", word: "card.personality", kind: "text" },
  { field: "scenario", word: "card.scenario", kind: "text" },
  { field: "first_mes", word: "card.first_mes", kind: "text" },
  { field: "mes_example", word: "card.mes_example", kind: "text" },
  { field: "system_prompt", word: "card.system_prompt", kind: "text" },
  { field: "post_history_instructions", word: "card.post_history_instructions", kind: "text" },
  { field: "creator_notes", word: "card.creator_notes", kind: "text" },
  { field: "tags", word: "card.tags", kind: "tags" },
  { field: "creator", word: "card.creator", kind: "line" },
  { field: "character_version", word: "card.character_version", kind: "line" },
];

/** The path of the object that has the fields. */
export function cardBase(document: unknown): Path {
  const data = valueAt(document, ["data"]);
  return typeof data === "object" && data !== null && !Array.isArray(data) ? ["data"] : [];
}

/** A list of texts, whatever the file holds there. */
export const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map((one) => (typeof one === "string" ? one : "")) : []);
