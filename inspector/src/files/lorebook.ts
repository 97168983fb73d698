/** Lorebooks as files have them: entries in a list or by number, their fields by several names. */

import { type Path, valueAt } from "../format/paths.ts";
import { itemsOf } from "./chips.ts";
import { FORMS, placeOf, spellingOf } from "./forms.ts";

export interface Entry {
  readonly path: Path;
  readonly id: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

export function hasEntries(book: unknown): boolean {
  const entries = valueAt(book, ["entries"]);
  return typeof entries === "object" && entries !== null;
}

/** Where a card keeps a lorebook of its own. */
export function bookAt(card: unknown): Path | null {
  return [["data", "character_book"], ["character_book"]].find((path) => hasEntries(valueAt(card, path))) ?? null;
}

/** The entries of the book at a path. */
export function entriesOf(document: unknown, base: Path): readonly Entry[] {
  const entries = valueAt(document, [...base, "entries"]);
  if (Array.isArray(entries)) {
    return entries.flatMap((value: unknown, index) => (isRecord(value) ? [{ path: [...base, "entries", index], id: String(index), value }] : []));
  }
  if (!isRecord(entries)) return [];
  return Object.entries(entries).flatMap(([key, value]) => (isRecord(value) ? [{ path: [...base, "entries", key], id: key, value }] : []));
}

const FIELDS = new Map(FORMS.entry.map((field) => [field.name, field]));

/** Where an entry has a field, from the entry. */
export const pathOf = (entry: Entry, field: string): Path => placeOf(entry.value, FIELDS.get(field)!, spellingOf(entry.value))?.path ?? [field];

const text = (value: unknown): string => (typeof value === "string" ? value : "");

export const titleOf = (entry: Entry): string =>
  text(entry.value["comment"]) || text(entry.value["name"]) || text(entry.value["title"]) || keysOf(entry).join(", ") || `#${entry.id}`;

export function keysOf(entry: Entry): readonly string[] {
  const keys = valueAt(entry.value, pathOf(entry, "keys"));
  if (typeof keys === "string") return itemsOf(keys, true);
  return Array.isArray(keys) ? keys.map(String) : [];
}

export function isEnabled(entry: Entry): boolean {
  return entry.value["disable"] !== undefined ? entry.value["disable"] !== true : entry.value["enabled"] !== false;
}

/** The change that turns an entry on or off. */
export function enabling(entry: Entry, on: boolean): { path: Path; value: unknown } {
  const path = pathOf(entry, "enabled");
  return { path: [...entry.path, ...path], value: path[0] === "disable" ? !on : on };
}

export const isConstant = (entry: Entry): boolean => entry.value["constant"] === true || entry.value["mode"] === "always";

export function orderOf(entry: Entry): number {
  const order = valueAt(entry.value, pathOf(entry, "order"));
  return typeof order === "number" ? order : 100;
}

/** The entries as their text goes into the prompt: by order, and as the file has them where that is the same. */
export const byOrder = (entries: readonly Entry[]): readonly Entry[] => entries.toSorted((a, b) => orderOf(a) - orderOf(b));

/** The changes of order that put the entry at one index to another; as few as there can be. */
export function reordered(entries: readonly Entry[], from: number, to: number): { path: Path; value: number }[] {
  const moved = entries[from];
  if (!moved || from === to || to < 0 || to >= entries.length) return [];
  const list = entries.toSpliced(from, 1).toSpliced(to, 0, moved);
  const change = (entry: Entry, value: number): { path: Path; value: number } => ({ path: [...entry.path, ...pathOf(entry, "order")], value });
  const before = list[to - 1];
  const after = list[to + 1];
  const low = before ? orderOf(before) : orderOf(after!) - 20;
  const high = after ? orderOf(after) : low + 20;
  if (high - low >= 2) return [change(moved, low + Math.floor((high - low) / 2))];
  // There is no number between the two: those after it give way.
  const changes = [change(moved, low + 1)];
  let least = low + 2;
  for (const entry of list.slice(to + 1)) {
    if (orderOf(entry) >= least) break;
    changes.push(change(entry, least));
    least += 1;
  }
  return changes;
}

/** A new entry in the shape of those that are there. */
export function newEntry(document: unknown, base: Path): { path: Path; value: unknown; insert: boolean } {
  const entries = valueAt(document, [...base, "entries"]);
  if (Array.isArray(entries)) {
    const value = { keys: [], content: "", enabled: true, insertion_order: 100, extensions: {}, comment: "" };
    return { path: [...base, "entries", entries.length], value, insert: true };
  }
  const uid = Math.max(-1, ...Object.keys(isRecord(entries) ? entries : {}).map(Number).filter(Number.isFinite)) + 1;
  const value = { uid, key: [], keysecondary: [], comment: "", content: "", constant: false, disable: false, order: 100, position: 0, probability: 100, useProbability: true };
  return { path: [...base, "entries", String(uid)], value, insert: false };
}
