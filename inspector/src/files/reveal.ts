/** Which places a form has a field for; others are shown in the JSON. */

import { type Path, valueAt } from "../format/paths.ts";
import { cardBase, CARD_FIELDS } from "./card.ts";

export function formShows(kind: string, document: unknown, path: Path): boolean {
  if (!path.length) return true;
  if (kind === "character") {
    const field = path[cardBase(document).length];
    return field === "alternate_greetings" || CARD_FIELDS.some((one) => one.field === field);
  }
  if (kind === "lorebook") return path[0] === "entries" && path.length > 1;
  if (kind === "preset") return path[0] === "prompts" || typeof valueAt(document, path) !== "object";
  if (kind === "chat") return Array.isArray(document) ? typeof path[0] === "number" : path[0] === "messages";
  return typeof valueAt(document, path) !== "object";
}
