/** Which places a form has a field for; others are shown in the JSON. */

import { type Path, startsWith, valueAt } from "../format/paths.ts";
import { cardBase } from "./card.ts";
import { type FormName, placed } from "./forms.ts";

const has = (document: unknown, base: Path, form: FormName, path: Path): boolean => placed(document, base, form).some((one) => startsWith(path, one.path));

const isScript = (path: Path): boolean => path.includes("regex_scripts");

export function formShows(kind: string, document: unknown, path: Path): boolean {
  if (!path.length) return true;
  if (kind === "character") return has(document, cardBase(document), "card", path) || isScript(path);
  if (kind === "lorebook") return path[0] === "entries" && (path.length === 2 || has(document, path.slice(0, 2), "entry", path));
  if (kind === "preset") return path[0] === "prompts" || isScript(path) || typeof valueAt(document, path) !== "object";
  if (kind === "chat") return Array.isArray(document) ? typeof path[0] === "number" : path[0] === "messages";
  return typeof valueAt(document, path) !== "object";
}
