/** Lists of texts as chips: what is typed or pasted in parts, patterns whole, and why a pattern is none. */

const SEPARATOR = /[,，\n]/;
const PATTERN = /^\/((?:[^/\\\n]|\\.)+)\/([a-z]*)(?=\s*(?:[,，\n]|$))/;

export interface Parts {
  /** Items that are whole, in their order. */
  readonly items: readonly string[];
  /** The last one, which may go on. */
  readonly rest: string;
}

/** A text in its items; the separators inside a `/pattern, such/i` are its own. A pattern that is not closed goes to the end. */
export function parts(text: string, patterns: boolean): Parts {
  const items: string[] = [];
  let rest = text.trimStart();
  for (;;) {
    const whole = patterns ? PATTERN.exec(rest)?.[0] : undefined;
    const at = whole === undefined ? (patterns && isOpen(rest) ? -1 : rest.search(SEPARATOR)) : rest.slice(whole.length).search(SEPARATOR) + whole.length;
    if (at < (whole?.length ?? 0)) return { items, rest };
    const item = rest.slice(0, at).trim();
    if (item) items.push(item);
    rest = rest.slice(at + 1).trimStart();
  }
}

/** All items of a text, at whose end nothing goes on: one that was never closed is no pattern. */
export function itemsOf(text: string, patterns: boolean): readonly string[] {
  const { items, rest } = parts(text, patterns);
  if (!rest.trim()) return items;
  return patterns && isOpen(rest) ? [...items, ...itemsOf(rest, false)] : [...items, rest.trim()];
}

/** Whether a text begins a pattern and does not end it. */
export const isOpen = (text: string): boolean => text.startsWith("/") && !PATTERN.test(text);

/** Why JavaScript takes a key for no pattern; null for a pattern that it takes, and for a plain text. */
export function patternFault(key: string): string | null {
  const [whole, source = "", flags = ""] = PATTERN.exec(key.trim()) ?? [];
  if (whole === undefined) return null;
  try {
    new RegExp(source, flags);
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return reason.slice(reason.lastIndexOf(": ") + 1).trim();
  }
}

/** The items that a file has there: a list as it is, one text in its parts. */
export const listOf = (value: unknown, patterns: boolean): readonly unknown[] =>
  Array.isArray(value) ? value : typeof value === "string" ? itemsOf(value, patterns) : [];
