/** What can be done, by name and by key: the palette, the list of keys and the keyboard all read these commands. */

import { replayBundle } from "../api/client.ts";
import { saveBlob } from "../format/download.ts";
import { shelf, type View, VIEWS } from "../library/shelf.svelte.ts";
import { preferences } from "../state/preferences.svelte.ts";
import { session } from "../state/session.svelte.ts";
import { conversation } from "../talk/conversation.svelte.ts";
import { t } from "../words/words.svelte.ts";

export interface Command {
  readonly id: string;
  readonly name: string;
  /** As `Mod+Shift+K`; Mod is Cmd on a Mac and Ctrl elsewhere. */
  readonly keys?: string;
  readonly run: () => void;
}

const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent);

/** A combination as it is printed on the keys of this machine. */
export const keysText = (keys: string): string =>
  isMac ? keys.replace("Mod+", "⌘").replace("Shift+", "⇧").replace("Alt+", "⌥") : keys.replace("Mod", "Ctrl");

function matches(event: KeyboardEvent, keys: string): boolean {
  const parts = keys.split("+");
  const key = parts.at(-1)!;
  return (
    (event.ctrlKey || event.metaKey) === parts.includes("Mod") &&
    event.shiftKey === parts.includes("Shift") &&
    event.altKey === parts.includes("Alt") &&
    (event.key.toLowerCase() === key.toLowerCase() || event.code === `Digit${key}` || event.code === `Key${key.toUpperCase()}`)
  );
}

/** Whether the keys of a command belong to what has the focus: an editor undoes its own. */
function typing(event: KeyboardEvent): boolean {
  const at = event.composedPath()[0];
  return at instanceof HTMLElement && (at.isContentEditable || at.matches("input:not([type=checkbox], [type=range]), textarea, select"));
}

class Shell {
  open = $state<"palette" | "keys" | "install" | null>(null);

  readonly commands: readonly Command[] = $derived([
    { id: "palette", name: t("command.palette"), keys: "Mod+K", run: () => (this.open = "palette") },
    { id: "search", name: t("command.search"), keys: "Mod+Shift+F", run: () => (this.open = "palette") },
    { id: "save", name: t("command.save"), keys: "Mod+S", run: save },
    { id: "undo", name: t("command.undo"), keys: "Mod+Z", run: () => session.undo() },
    { id: "redo", name: t("command.redo"), keys: "Mod+Shift+Z", run: () => session.redo() },
    ...(session.workspace?.install ? [{ id: "install", name: t("command.install"), keys: "Mod+O", run: () => (this.open = "install") } as const] : []),
    { id: "files", name: t("command.files"), keys: "Alt+1", run: () => focus("files") },
    { id: "prompt", name: t("command.prompt"), keys: "Alt+2", run: () => ((session.middle = "prompt"), focus("middle")) },
    { id: "time", name: t("command.time"), keys: "Alt+0", run: () => ((session.middle = "time"), focus("middle")) },
    { id: "wire", name: t("command.wire"), keys: "Alt+3", run: () => ((session.middle = "wire"), focus("middle")) },
    { id: "compare", name: t("command.compare"), keys: "Alt+4", run: () => ((session.middle = "compare"), focus("middle")) },
    ...(session.workspace?.talk
      ? [
          { id: "talk", name: t("command.talk"), keys: "Alt+5", run: talk },
          { id: "try", name: t("command.try"), keys: "Alt+T", run: () => ((session.middle = "try"), focus("middle")) },
          { id: "branch", name: t("command.branch"), run: () => void conversation.branch(conversation.messages.length + (conversation.here.last ? 2 : 0)).then(talk) },
          ...conversation.branches.all
            .filter(({ id }) => id !== conversation.here.id)
            .map(({ id }) => ({ id: `branch ${id}`, name: t("talk.open", { n: id }), run: () => (conversation.open(id), talk()) })),
        ]
      : []),
    { id: "why", name: t("command.why"), keys: "Alt+6", run: () => ((session.side = "why"), focus("side")) },
    { id: "notes", name: t("command.notes"), keys: "Alt+7", run: () => ((session.side = "notes"), focus("side")) },
    { id: "settings", name: t("command.settings"), keys: "Alt+8", run: () => ((session.side = "settings"), focus("side")) },
    ...(session.workspace?.library
      ? [
          { id: "library", name: t("command.library"), keys: "Alt+9", run: (): void => visit(shelf.view) },
          ...VIEWS.map((view) => ({ id: `library ${view}`, name: `${t("lib")}: ${t(`lib.${view}`)}`, run: () => visit(view) })),
        ]
      : []),
    { id: "message", name: t("command.message"), keys: "Mod+M", run: message },
    { id: "before", name: t("turn.before"), keys: "Alt+ArrowLeft", run: () => turn(-1) },
    { id: "after", name: t("turn.after"), keys: "Alt+ArrowRight", run: () => turn(1) },
    { id: "replay", name: t("command.replay"), run: () => void saveReplay() },
    { id: "light", name: t("theme.light"), run: () => preferences.setTheme("light") },
    { id: "dark", name: t("theme.dark"), run: () => preferences.setTheme("dark") },
    { id: "auto", name: t("theme.auto"), run: () => preferences.setTheme("auto") },
    { id: "en", name: "English", run: () => preferences.setLanguage("en") },
    { id: "zh", name: "中文", run: () => preferences.setLanguage("zh") },
    { id: "keys", name: t("command.keys"), keys: "Mod+/", run: () => (this.open = "keys") },
  ]);

  pressed(event: KeyboardEvent): Command | undefined {
    const command = this.commands.find(({ keys }) => keys && matches(event, keys));
    const own = (command?.id === "undo" || command?.id === "redo" || command?.keys?.startsWith("Alt+Arrow")) && typing(event);
    return own ? undefined : command;
  }
}

/** Go to a view of the library. */
function visit(view: View): void {
  session.room = "library";
  shelf.view = view;
  // The room may have to be loaded first.
  const wait = setInterval(() => {
    const tab = document.getElementById(`shelf-${view}`);
    if (!tab && session.room === "library") return;
    clearInterval(wait);
    tab?.focus();
  }, 20);
}

function focus(pane: "files" | "middle" | "side"): void {
  session.room = "workspace";
  session.pane = pane;
  const view = { files: "pane-files", middle: "view", side: "details" }[pane];
  requestAnimationFrame(() => {
    const root = document.getElementById(view);
    const first = ["article", ".verdict[tabindex='0']", ".entry[tabindex='0']", "[aria-current]", "input:not([type=checkbox]), select, textarea, button"];
    first.map((selector) => root?.querySelector<HTMLElement>(selector)).find(Boolean)?.focus();
  });
}

function talk(): void {
  session.middle = "talk";
  focus("middle");
}

function message(): void {
  session.room = "workspace";
  if (session.middle !== "talk" && session.middle !== "try") session.middle = "prompt";
  session.pane = "middle";
  requestAnimationFrame(() => document.getElementById("message")?.focus());
}

function save(): void {
  const changed = session.files.filter((file) => file.changed);
  const file = changed.find((one) => one.id === session.active) ?? changed[0];
  if (file) session.saving = file.id;
  else session.say("good", t("nothing.changed"));
}

function turn(by: number): void {
  const turns = session.turns;
  const to = (session.settings?.turn ?? turns) + by;
  if (to >= 0 && to <= turns) session.set({ turn: to >= turns ? null : to });
}

export async function saveReplay(): Promise<void> {
  try {
    saveBlob(await replayBundle(), "prompt.replay.json");
  } catch (error) {
    session.complain(error);
  }
}

export const shell = new Shell();
