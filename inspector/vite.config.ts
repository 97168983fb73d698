import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

import { sources } from "./sources.ts";

// `innkeeper inspect --no-browser --port 8091` beside `npm run dev`; another address: INNKEEPER_INSPECTOR.
const service = process.env["INNKEEPER_INSPECTOR"] ?? "http://127.0.0.1:8091";

export default defineConfig({
  base: "/inspector/",
  plugins: [svelte(), sources()],
  build: {
    outDir: "../src/innkeeper/service/inspector/page",
    emptyOutDir: true,
    sourcemap: false,
    // What knows `light-dark()` and nesting knows these too; nothing is rewritten for older ones.
    target: ["chrome123", "edge123", "firefox121", "safari17.5"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the policy of the page allows no data: addresses
    reportCompressedSize: true,
  },
  server: {
    proxy: {
      "/v1/inspector": { target: service, ws: true, changeOrigin: true },
    },
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
