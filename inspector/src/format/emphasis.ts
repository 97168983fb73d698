/** What is said in a chat as its writers mark it: `*acts*` and `**weight**`, within a line. */

export interface Emphasised {
  readonly text: string;
  readonly tag: "" | "em" | "strong";
}

const MARKED = /\*\*([^*\n]+)\*\*|\*([^*\n]+)\*/g;

/** A text in runs; marks that stand for nothing stay. */
export function emphasised(text: string): readonly Emphasised[] {
  const out: Emphasised[] = [];
  let at = 0;
  for (const match of text.matchAll(MARKED)) {
    const [whole, strong, em] = match;
    if (match.index > at) out.push({ text: text.slice(at, match.index), tag: "" });
    out.push({ text: strong ?? em ?? "", tag: strong === undefined ? "em" : "strong" });
    at = match.index + whole.length;
  }
  if (at < text.length) out.push({ text: text.slice(at), tag: "" });
  return out;
}
