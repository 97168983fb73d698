/** The tags of a text with macros, however deep one is in another: whole tags, the words of blocks, and braces that never close. */

export interface Tag {
  readonly from: number;
  readonly to: number;
  readonly kind: "tag" | "block" | "open";
}

const BLOCK = /^(?:[#:][\w-]+|\/(?!\/)[\w-]*)/;
const LONGEST_BLOCK = 40;

/** In the order of the text. */
export function tagsOf(text: string): Tag[] {
  const open: number[] = [];
  const closed: Tag[] = [];
  for (const { 0: mark, index } of text.matchAll(/\{\{|\}\}/g)) {
    if (mark === "{{") {
      open.push(index);
      continue;
    }
    const from = open.pop();
    if (from !== undefined) closed.push({ from, to: index + 2, kind: "tag" });
  }
  closed.sort((one, other) => one.from - other.from);
  const result: Tag[] = open.map((from) => ({ from, to: from + 2, kind: "open" }));
  let end = 0;
  for (const tag of closed) {
    if (tag.from >= end) result.push(tag);
    end = Math.max(end, tag.to);
    const from = tag.from + 2;
    const word = BLOCK.exec(text.slice(from, from + LONGEST_BLOCK))?.[0];
    if (word) result.push({ from, to: from + word.length, kind: "block" });
  }
  return result.sort((one, other) => one.from - other.from);
}
