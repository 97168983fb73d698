/** What a bundle was built from, and what it holds: `page/sources.json`, which a Python test compares without node. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

import type { Plugin } from "vite";

// Everything that makes the bundle what it is; `src/api/types.ts` holds types alone, of which none is left in a bundle.
const SINGLE = ["index.html", "package.json", "package-lock.json", "sources.ts", "svelte.config.js", "tsconfig.json", "vite.config.ts"];
const LEFT_OUT = new Set(["src/api/types.ts"]);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

const sha256 = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex");

/** The hash of the sources: of lines "PATH HASH" in the order of the paths. */
export function sourcesHash(root: string): string {
  const inside = filesBelow(join(root, "src")).map((file) => relative(root, file).split(sep).join("/"));
  const paths = [...SINGLE, ...inside].filter((path) => !LEFT_OUT.has(path)).sort();
  return sha256(paths.map((path) => `${path} ${sha256(readFileSync(join(root, path)))}\n`).join(""));
}

/** The folder of the package that a module is of; null for our own. */
function packageOf(module: string): string | null {
  const at = module.lastIndexOf("node_modules/");
  if (at < 0) return null;
  const name = module.slice(at + "node_modules/".length).split("/");
  return module.slice(0, at) + ["node_modules", ...name.slice(0, name[0]!.startsWith("@") ? 2 : 1)].join("/");
}

/** The licences of what the bundle carries, as they want to be passed on. */
function licences(modules: Iterable<string>): string {
  const folders = new Set([...modules].map((module) => packageOf(module.replace(/^\0/, "").split("?")[0]!)).filter((folder) => folder !== null));
  const texts = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, string>;
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}\n`;
  });
  return texts.sort().join(`\n${"-".repeat(80)}\n\n`);
}

/** The plugin that writes `sources.json` beside the bundle. */
export function sources(): Plugin {
  let root = "";
  let out = "";
  return {
    name: "sources",
    apply: "build",
    configResolved(config) {
      root = config.root;
      out = join(config.root, config.build.outDir);
    },
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: licences(this.getModuleIds()) });
    },
    closeBundle() {
      const files = Object.fromEntries(
        filesBelow(out)
          .map((file) => [relative(out, file).split(sep).join("/"), sha256(readFileSync(file))] as const)
          .filter(([path]) => path !== "sources.json")
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      );
      writeFileSync(join(out, "sources.json"), JSON.stringify({ sources: sourcesHash(root), files }, null, 2) + "\n");
    },
  };
}
