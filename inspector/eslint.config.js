import svelte from "eslint-plugin-svelte";
import tseslint from "typescript-eslint";

import svelteConfig from "./svelte.config.js";

const NEVER_HTML = [
  { property: "innerHTML", message: "Text of files is never HTML." },
  { property: "outerHTML", message: "Text of files is never HTML." },
  { property: "insertAdjacentHTML", message: "Text of files is never HTML." },
  { property: "setHTMLUnsafe", message: "Text of files is never HTML." },
  { property: "createContextualFragment", message: "Text of files is never HTML." },
  { object: "document", property: "write", message: "Text of files is never HTML." },
];

export default tseslint.config(
  { ignores: ["node_modules", "src/api/types.ts"] },
  ...tseslint.configs.strict,
  ...svelte.configs.recommended,
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: tseslint.parser, svelteConfig } },
  },
  {
    rules: {
      "no-eval": "error",
      "no-new-func": "error",
      "no-implied-eval": "error",
      "no-restricted-properties": ["error", ...NEVER_HTML],
      "svelte/no-at-html-tags": "error",
      "svelte/no-inline-styles": "off", // `style:` sets properties, which the policy allows; style attributes a test refuses
      "svelte/prefer-svelte-reactivity": "off", // values that are made anew and never changed
      "svelte/no-useless-mustaches": "off", // a space between blocks is written as one
      "svelte/require-each-key": "error",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
    },
  },
);
