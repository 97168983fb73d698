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
  welcomed: boolean;
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
  /** Whether the first look was closed. */
  welcomed = $state(false);

  start(): void {
    const { theme, language, left, right, tints, welcomed } = kept();
    if (theme === "light" || theme === "dark") this.theme = theme;
    const spoken = language ?? (navigator.language.startsWith("zh") ? "zh" : "en");
    this.language = spoken === "zh" ? "zh" : "en";
    if (typeof left === "number") this.left = left;
    if (typeof right === "number") this.right = right;
    if (typeof tints === "boolean") this.tints = tints;
    this.welcomed = welcomed === true;
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
    const { theme, language, left, right, tints, welcomed } = this;
    try {
      localStorage.setItem(KEY, JSON.stringify({ theme, language, left, right, tints, welcomed } satisfies Kept));
    } catch {
      // A browser that keeps nothing: it is as it is the next time.
    }
  }
}

export const preferences = new Preferences();
