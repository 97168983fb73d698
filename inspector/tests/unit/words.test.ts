import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import en from "../../src/words/en.json" with { type: "json" };
import zh from "../../src/words/zh.json" with { type: "json" };

const SRC = new URL("../../src", import.meta.url).pathname;
const code = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.(ts|svelte)$/.test(name) && name !== "api/types.ts")
  .map((name) => readFileSync(join(SRC, name), "utf8"))
  .join("\n");
// Words for codes of the service, which `named` looks up.
const BY_CODE = /^(asset|reason|kind|role|slot|group|severity|field|form|choice|help|rule|scope|step|stage|figure|code|verdict)\./;

describe("the words of the page", () => {
  it("are the same keys in both languages, none of them empty", () => {
    expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
    for (const text of [...Object.values(en), ...Object.values(zh)]) expect(text.trim()).not.toBe("");
  });

  it("have the same places for values in both languages", () => {
    const places = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();
    for (const [key, text] of Object.entries(en)) expect(places(zh[key as keyof typeof zh]), key).toEqual(places(text));
  });

  it("are all used", () => {
    const templates = [...code.matchAll(/t\(`([^`$]*)\$\{/g)].map(([, beginning]) => beginning!);
    const unused = Object.keys(en).filter((key) => !BY_CODE.test(key) && !code.includes(`"${key}"`) && !code.includes(`t('${key}'`) && !templates.some((one) => one && key.startsWith(one)));
    expect(unused).toEqual([]);
  });

  it("have every word that is asked for", () => {
    const asked = [...code.matchAll(/\bt\(["']([^"']+)["']/g)].map(([, key]) => key!);
    expect(asked.filter((key) => !Object.hasOwn(en, key))).toEqual([]);
  });
});
