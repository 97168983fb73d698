/** Texts that hold what is searched for, in documents and messages. */

import type { Path } from "../format/paths.ts";

const AROUND = 40;

/** Every text of a document, with its place. */
export function* textsOf(document: unknown, path: Path = []): Generator<{ readonly path: Path; readonly text: string }> {
  if (typeof document === "string") yield { path, text: document };
  else if (Array.isArray(document)) for (const [index, item] of document.entries()) yield* textsOf(item, [...path, index]);
  else if (document && typeof document === "object") for (const [key, item] of Object.entries(document)) yield* textsOf(item, [...path, key]);
}

/** The first match in a text with what stands around it, in one line; null where there is none. */
export function excerpt(text: string, search: string): string | null {
  const at = text.toLowerCase().indexOf(search);
  if (at < 0) return null;
  const from = Math.max(0, at - AROUND);
  const to = at + search.length + AROUND;
  return `${from ? "…" : ""}${text.slice(from, to).replace(/\s+/g, " ")}${to < text.length ? "…" : ""}`;
}
