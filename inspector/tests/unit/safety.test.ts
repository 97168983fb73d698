import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

const ROOT = new URL("../..", import.meta.url).pathname;
const SRC = join(ROOT, "src");
const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) => /\.(ts|svelte|css|html|json)$/.test(name));
const NEVER: readonly (readonly [string, RegExp])[] = [
  ["HTML of a text", /\{@html|innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|DOMParser|document\.write|setHTMLUnsafe/],
  ["code of a text", /\beval\(|new Function\(|setTimeout\(["'`]/],
  ["a style attribute", /\sstyle="/],
  ["an address elsewhere", /https?:\/\/(?!www\.w3\.org\/2000\/svg)/],
];

describe("the sources of the page", () => {
  it.each(NEVER)("never hold %s", (_name, pattern) => {
    expect(files.filter((name) => pattern.test(readFileSync(join(SRC, name), "utf8")))).toEqual([]);
  });

  it("link to nothing that a file could name", () => {
    const links = files.filter((name) => /href=\{|src=\{/.test(readFileSync(join(SRC, name), "utf8")));
    expect(links).toEqual(["files/CardForm.svelte"]); // the picture, from memory
  });

  it("name no registry", () => {
    const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as { packages: Record<string, { resolved?: string }> };
    expect(Object.values(lock.packages).filter((one) => one.resolved)).toEqual([]);
  });
});
