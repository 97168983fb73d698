/** The words of the page, in English and Chinese: one file a language, the same keys in both. */

import en from "./en.json";

export type Language = "en" | "zh";
export type Word = keyof typeof en;

const TABLES: Record<Language, () => Promise<Record<string, string>>> = {
  en: () => Promise.resolve(en),
  zh: async () => (await import("./zh.json")).default,
};
export const LANGUAGES: readonly { readonly id: Language; readonly name: string }[] = [
  { id: "en", name: "English" },
  { id: "zh", name: "中文" },
];

let table = $state.raw<Record<string, string>>(en);
let current = $state<Language>("en");

export const language = (): Language => current;

export async function speak(wanted: Language): Promise<void> {
  table = await TABLES[wanted]();
  current = wanted;
  document.documentElement.lang = wanted === "zh" ? "zh-Hans" : "en";
}

/** A text in the language of the page; `{name}` in it is replaced. */
export function t(word: Word, values?: Readonly<Record<string, string | number>>): string {
  const text = table[word] ?? en[word];
  return values ? text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)) : text;
}

/** The word for a code that the service uses, or the code itself. */
export function named(kind: "asset" | "reason" | "kind" | "role" | "group" | "severity" | "field" | "form" | "choice" | "rule" | "step" | "stage" | "figure" | "scope", code: string): string {
  const word = `${kind}.${code}`;
  return table[word] ?? (en as Record<string, string>)[word] ?? code.replaceAll("_", " ");
}

/** What a field is for, where that needs to be said. */
export const help = (field: string): string => table[`help.${field}`] ?? (en as Record<string, string>)[`help.${field}`] ?? "";
