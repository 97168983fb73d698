/** Which files are used when another template is chosen. */

import type { FileView } from "../api/types.ts";

/** Dialects of text completion. */
export const TEXT_DIALECTS: readonly string[] = ["text", "llamacpp", "koboldcpp"];

/** The used files with `id` (or none) in the place of those with this part; a file with further parts stays. */
export function replaced(files: readonly FileView[], used: readonly string[], part: string, id: string): readonly string[] {
  const only = new Set(files.filter((file) => file.id !== id && file.parts.length === 1 && file.parts[0] === part).map((file) => file.id));
  const others = used.filter((one) => !only.has(one) && one !== id);
  return id ? [...others, id] : others;
}
