/** The words of the page, in English and Chinese: one file a language, the same keys in both. */

import en from "./en.json";
import { translator } from "./sentences.ts";

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
const AS_IT_IS = (text: string): string => text;
let translated = $state.raw(AS_IT_IS);
let current = $state<Language>("en");

export const language = (): Language => current;

export async function speak(wanted: Language): Promise<void> {
  const [words, sentences] = await Promise.all([TABLES[wanted](), wanted === "zh" ? import("./sentences.json").then(({ default: known }) => translator(known)) : AS_IT_IS]);
  [table, translated] = [words, sentences];
  current = wanted;
  document.documentElement.lang = wanted === "zh" ? "zh-Hans" : "en";
}

/** A text in the language of the page; `{name}` in it is replaced. */
export function t(word: Word, values?: Readonly<Record<string, string | number>>): string {
  const text = table[word] ?? en[word];
  return values ? text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)) : text;
}

/** The word for a code that the service uses, or the code itself. */
export function named(kind: "asset" | "reason" | "kind" | "role" | "slot" | "group" | "severity" | "field" | "form" | "choice" | "rule" | "step" | "stage" | "figure" | "scope" | "code", code: string): string {
  const word = `${kind}.${code}`;
  return table[word] ?? (en as Record<string, string>)[word] ?? code.replaceAll("_", " ");
}

/** A sentence of the service in the language of the page, as far as it is known. */
export const said = (text: string): string => translated(text);

/** What an error says: in a language in which its sentence is not known, after the name of its kind. */
export function problemText(code: string, message: string): string {
  const own = translated(message);
  return current === "en" || own !== message ? own : `${named("code", code)}：${message}`;
}

/** Why an entry is in or out: by the reason of a tavern, with the facts in it. */
export function reasonText(tavern: string, reason: string, facts: Readonly<Record<string, string>>): string {
  const words = [`verdict.${tavern}.${reason}`, `verdict.${reason}`];
  const sentence = words.map((word) => table[word] ?? (en as Record<string, string>)[word]).find((one) => one !== undefined) ?? reason;
  return sentence.replace(/\{(\w+)\}/g, (whole, name: string) => (name in facts ? translated(facts[name]!) : whole));
}

/** What a field is for, where that needs to be said. */
export const help = (field: string): string => table[`help.${field}`] ?? (en as Record<string, string>)[`help.${field}`] ?? "";
