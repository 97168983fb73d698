/** Places in words: "Skerrow › Content" instead of `data.character_book.entries[0].content`. */

import { FORMS } from "../files/forms.ts";
import { named, t } from "../words/words.svelte.ts";
import { type Path, valueAt } from "./paths.ts";
import { plain } from "./text.ts";

const SKIPPED = new Set(["data", "extensions", "character_book", "entries", "messages", "prompts", "header", "chat_metadata"]);
const TITLES = ["comment", "name", "title", "scriptName", "identifier"];

// What a field is called by the last step to it in files; of several that are called so, cards and entries count first.
const NAMED = Object.values(FORMS).flatMap((fields) => fields.flatMap((field) => Object.values(field.in).flatMap(({ paths }) => paths.map((path) => [String(path.at(-1)), field.name] as const))));
const NAMES = new Map(NAMED.toReversed());

function titleOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  const record = value as Record<string, unknown>;
  return TITLES.map((name) => record[name]).find((one): one is string => typeof one === "string" && one !== "") ?? "";
}

/** Whether a step names one of several: an item of a list, an entry by its number. */
const isItem = (path: Path, index: number): boolean => typeof path[index] === "number" || path[index - 1] === "entries";

export function placeWords(document: unknown, path: Path): string {
  const words = path.flatMap((step, index): string[] => {
    if (isItem(path, index)) return [titleOf(valueAt(document, path.slice(0, index + 1))) || (path[index - 1] === "messages" ? t("in.message", { n: Number(step) + 1 }) : `#${Number(step) + 1}`)];
    if (SKIPPED.has(String(step)) && index < path.length - 1) return [];
    const word = named("field", NAMES.get(String(step)) ?? String(step));
    return [word.charAt(0).toUpperCase() + word.slice(1)];
  });
  return words.map((word) => plain(word, 60)).join(" › ");
}

export interface FieldChange {
  readonly path: Path;
  /** Undefined where there was, or is, nothing. */
  readonly before: unknown;
  readonly after: unknown;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What differs, field by field; of a list that got longer or shorter, the items that came and went. */
export function fieldChanges(before: unknown, after: unknown, path: Path = []): FieldChange[] {
  if (same(before, after)) return [];
  if (isRecord(before) && isRecord(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => fieldChanges(before[key], after[key], [...path, key]));
  }
  if (Array.isArray(before) && Array.isArray(after) && [...before, ...after].some(isRecord)) return itemChanges(before, after, path);
  return [{ path, before, after }];
}

function itemChanges(before: readonly unknown[], after: readonly unknown[], path: Path): FieldChange[] {
  if (before.length === after.length) return before.flatMap((item, index) => fieldChanges(item, after[index], [...path, index]));
  const there = new Set(before.map((item) => JSON.stringify(item)));
  const now = new Set(after.map((item) => JSON.stringify(item)));
  return [
    ...before.flatMap((item, index): FieldChange[] => (now.has(JSON.stringify(item)) ? [] : [{ path: [...path, index], before: item, after: undefined }])),
    ...after.flatMap((item, index): FieldChange[] => (there.has(JSON.stringify(item)) ? [] : [{ path: [...path, index], before: undefined, after: item }])),
  ];
}
