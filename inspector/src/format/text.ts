/** Text that is not trusted: characters that hide or turn what is read are made visible; places are in code points. */

// Controls, bidirectional marks, joiners without width, tags, and the byte order mark. Line ends and tabs are themselves.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

export interface Run {
  readonly text: string;
  readonly hidden: boolean;
}

/** A text as runs; a hidden character is a run of its own that shows its number. */
export function runs(text: string): readonly Run[] {
  if (text.search(HIDDEN) < 0) return [{ text, hidden: false }];
  const out: Run[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) out.push({ text: text.slice(from, match.index), hidden: false });
    const point = match[0].codePointAt(0) ?? 0;
    out.push({ text: `U+${point.toString(16).toUpperCase().padStart(4, "0")}`, hidden: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), hidden: false });
  return out;
}

/** A text in one line for names and attributes, its hidden characters shown. */
export const plain = (text: string, limit = 200): string => {
  const line = runs(text.length > limit ? `${text.slice(0, limit)}…` : text).map((run) => (run.hidden ? `⟨${run.text}⟩` : run.text));
  return line.join("").replace(/\s+/g, " ");
};

const WIDE = /[\ud800-\udbff]/;

/** Where in a string (UTF-16) the code points at sorted places begin. */
export function unitOffsets(text: string, points: readonly number[]): number[] {
  if (!WIDE.test(text)) return points.map((point) => Math.min(point, text.length));
  const out: number[] = [];
  let unit = 0;
  let point = 0;
  for (const wanted of points) {
    while (point < wanted && unit < text.length) {
      const code = text.charCodeAt(unit);
      unit += code >= 0xd800 && code <= 0xdbff ? 2 : 1;
      point += 1;
    }
    out.push(unit);
  }
  return out;
}

/** Where a key stands in a text: at the place that was told if it is there, else where it is first. */
export function keySpan(text: string, key: string, start: number, end: number): readonly [number, number] | null {
  const [from = 0, to = 0] = unitOffsets(text, [start, end]);
  if (to > from && text.slice(from, to).toLowerCase() === key.toLowerCase()) return [from, to];
  const elsewhere = text.toLowerCase().indexOf(key.toLowerCase());
  if (key && elsewhere >= 0) return [elsewhere, elsewhere + key.length];
  return to > from && to <= text.length ? [from, to] : null;
}
