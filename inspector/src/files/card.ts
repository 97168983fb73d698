/** Where a card keeps its fields: V1 at the top, V2 and V3 in `data`. */

import { type Path, valueAt } from "../format/paths.ts";

/** The path of the object that has the fields. */
export function cardBase(document: unknown): Path {
  const data = valueAt(document, ["data"]);
  return typeof data === "object" && data !== null && !Array.isArray(data) ? ["data"] : [];
}
