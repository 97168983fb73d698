/** @type {import("@sveltejs/vite-plugin-svelte").SvelteConfig} */
export default {
  compilerOptions: {
    runes: true,
    fragments: "tree", // elements are made one by one: the page sets no innerHTML, not even of its own
  },
};
