/** What of the library is looked at: its templates, the one that is open, and the view. */

import { library } from "../api/client.ts";
import type { LibraryView, TemplateSummary, TemplateView } from "../api/types.ts";
import { session } from "../state/session.svelte.ts";
import type { Values } from "./cases.ts";

export const VIEWS = ["templates", "resolver", "tiers", "catalogue", "log", "vault"] as const;
export const TABS = ["content", "run", "compare", "history"] as const;
export type TemplateTab = (typeof TABS)[number];
export type View = (typeof VIEWS)[number];

class Shelf {
  view = $state<View>("templates");
  overview = $state.raw<LibraryView | null>(null);
  templates = $state.raw<readonly TemplateSummary[] | null>(null);
  open = $state.raw<TemplateView | null>(null);

  /** What of a template is shown, and the values of its variables: a link carries both. */
  tab = $state<TemplateTab>("content");
  values = $state.raw<Values>({});

  readonly kinds: readonly string[] = $derived([...new Set((this.templates ?? []).map((one) => one.kind))].sort());

  /** Ask again for what is in it. */
  async load(): Promise<void> {
    await session.tried(async () => {
      [this.overview, this.templates] = await Promise.all([library.overview(), library.templates()]);
    });
  }

  /** Show a template, with one of its versions. */
  async show(name: string, version: number | null = null): Promise<void> {
    this.view = "templates";
    session.room = "library";
    await session.tried(async () => {
      if (name !== this.open?.summary.name) this.values = {};
      this.open = await library.template(name, version);
    });
  }

  /** A template as it is after it was changed. */
  async changed(template: TemplateView): Promise<void> {
    this.open = template;
    await this.load();
  }
}

export const shelf = new Shelf();
