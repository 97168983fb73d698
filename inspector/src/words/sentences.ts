/** Sentences of the service in another language: found by their fixed parts, with what stands between them put in again. */

interface Known {
  readonly pattern: RegExp;
  readonly sentence: string;
}

const KEPT = 2_000;

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const rank = (template: string): number => template.replaceAll("{}", "").length + (template.startsWith("{}") ? 0 : 1_000);

/** Makes what translates: of several sentences that a text may be, one that begins as it does, then the longest fixed parts. */
export function translator(table: Readonly<Record<string, string>>): (text: string) => string {
  const known: Known[] = Object.entries(table)
    .sort(([a], [b]) => rank(b) - rank(a))
    .map(([template, sentence]) => ({ pattern: new RegExp(`^${template.split("{}").map(escaped).join("([^]*?)")}$`), sentence }));
  const before = new Map<string, string>();

  function translated(text: string): string {
    const cached = before.get(text);
    if (cached !== undefined) return cached;
    if (before.size >= KEPT) before.clear();
    const parts = text.split("; ");
    const isSeveral = parts.length > 1 && parts.every((part) => whole(part) !== null);
    const made = isSeveral ? parts.map(translated).join("；") : (whole(text) ?? text);
    before.set(text, made);
    return made;
  }
  function whole(text: string): string | null {
    for (const { pattern, sentence } of known) {
      const parts = pattern.exec(text);
      // What a sentence quotes stays; what it goes on with may be a sentence itself.
      if (parts) return sentence.replace(/\{(\d)\}/g, (_, index: string) => translated(parts[Number(index) + 1] ?? ""));
    }
    return null;
  }
  return translated;
}
