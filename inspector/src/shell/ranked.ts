/** What a search finds, the nearest first. */

/** Those whose names have all words of a search, at most so many: one of that very name first, then those that begin with it. */
export function ranked<One extends { readonly name: string }>(all: Iterable<One>, search: string, most: number): readonly One[] {
  const wanted = search.trim().toLowerCase();
  const words = wanted.split(/\s+/).filter(Boolean);
  const found: One[][] = [[], [], []];
  for (const one of all) {
    const name = one.name.toLowerCase();
    if (!words.every((word) => name.includes(word))) continue;
    const rank = found[name === wanted ? 0 : name.startsWith(wanted) ? 1 : 2]!;
    if (rank.length < most) rank.push(one);
  }
  return found.flat().slice(0, most);
}
