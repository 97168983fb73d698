/** What a person likes, kept in the browser: theme, language, widths, tints. */

import { type Language, speak } from "../words/words.svelte.ts";

export type Theme = "auto" | "light" | "dark";

const KEY = "innkeeper-inspector";

interface Kept {
  theme: Theme;
  language: Language;
  left: number;
  right: number;
  tints: boolean;
}

function kept(): Partial<Kept> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
  } catch {
    return {};
  }
}

class Preferences {
  theme = $state<Theme>("auto");
  language = $state<Language>("en");
  left = $state(400);
  right = $state(400);
  tints = $state(true);

  start(): void {
    const { theme, language, left, right, tints } = kept();
    if (theme === "light" || theme === "dark") this.theme = theme;
    const spoken = language ?? (navigator.language.startsWith("zh") ? "zh" : "en");
    this.language = spoken === "zh" ? "zh" : "en";
    if (typeof left === "number") this.left = left;
    if (typeof right === "number") this.right = right;
    if (typeof tints === "boolean") this.tints = tints;
    if (this.theme !== "auto") document.documentElement.dataset["theme"] = this.theme;
    if (this.language !== "en") void speak(this.language);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    this.keep();
  }

  setLanguage(language: Language): void {
    this.language = language;
    void speak(language);
    this.keep();
  }

  keep(): void {
    const { theme, language, left, right, tints } = this;
    try {
      localStorage.setItem(KEY, JSON.stringify({ theme, language, left, right, tints } satisfies Kept));
    } catch {
      // A browser that keeps nothing: it is as it is the next time.
    }
  }
}

export const preferences = new Preferences();
