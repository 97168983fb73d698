/** The address of what is shown: a reload and Back lead to it, and it can be kept. The prompt itself is the service's. */

export interface Shown {
  readonly room: string;
  readonly view: string;
  readonly side: string;
  readonly pane: string;
  readonly file: string | null;
  readonly entry: string | null;
  readonly message: number | null;
  readonly shelf: string;
  /** Of the library: the template that is open, its version, what of it is shown, and the values of its variables. */
  readonly template: string | null;
  readonly version: string | null;
  readonly tab: string;
  readonly values: string | null;
}

const NAMES = ["room", "view", "side", "pane", "file", "entry", "shelf", "template", "version", "tab", "values"] as const;
const USUAL: Readonly<Record<string, string>> = { room: "workspace", view: "prompt", side: "why", pane: "middle", shelf: "templates", tab: "content" };

/** What stands behind the `#`; what is as usual is left out. */
export function addressOf(shown: Shown): string {
  const query = new URLSearchParams();
  for (const name of NAMES) {
    const value = shown[name];
    if (value !== null && value !== USUAL[name]) query.set(name, value);
  }
  if (shown.message !== null) query.set("message", String(shown.message + 1));
  return query.toString();
}

/** What an address shows; words that no view has are left out. */
export function shownAt(address: string, known: Readonly<Partial<Record<keyof Shown, readonly string[]>>>): Shown {
  const query = new URLSearchParams(address.replace(/^#/, ""));
  const word = (name: (typeof NAMES)[number]): string => {
    const value = query.get(name) ?? "";
    return known[name]?.includes(value) ? value : (USUAL[name] ?? "");
  };
  const number = Number(query.get("message"));
  return {
    room: word("room"),
    view: word("view"),
    side: word("side"),
    pane: word("pane"),
    shelf: word("shelf"),
    tab: word("tab"),
    file: query.get("file"),
    entry: query.get("entry"),
    template: query.get("template"),
    version: query.get("version"),
    values: query.get("values"),
    message: Number.isInteger(number) && number > 0 ? number - 1 : null,
  };
}
