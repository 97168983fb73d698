/** The editors: a field with its macros coloured, JSON, and two texts side by side.
 *
 * Each stands in a shadow root of its own: there the editor's styles are adopted style sheets, which a policy without inline
 * styles allows, and nothing of the page reaches in but its custom properties.
 */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, ensureSyntaxTree, foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Extension, Prec, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration, type DecorationSet, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers, MatchDecorator, placeholder, ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import type { SyntaxNode } from "@lezer/common";
import { tags } from "@lezer/highlight";

import type { Path } from "../format/paths.ts";
import { tagsOf } from "../format/tags.ts";

export interface EditorOptions {
  readonly text: string;
  readonly language: "macros" | "json" | "code";
  readonly label: string;
  readonly readOnly?: boolean;
  readonly hint?: string;
  readonly onChange?: (text: string) => void;
  readonly onFocus?: (focused: boolean) => void;
}

export interface Tinted {
  readonly from: number;
  readonly to: number;
  readonly colour: number;
  readonly title: string;
}

const fromOutside = Annotation.define<boolean>();

const ANGLED = /(?<!<)<<[^<>\n]{1,200}>>(?!>)|<(?:user|char|bot|start|group)>/gi;
const macroMarks = new MatchDecorator({ regexp: ANGLED, decoration: () => Decoration.mark({ class: "cm-macro" }) });
const angled = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = macroMarks.createDeco(view);
    }
    update(update: ViewUpdate): void {
      this.decorations = macroMarks.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

const LONGEST_TAGGED = 200_000;
const tagMarks = { tag: "cm-macro", block: "cm-block", open: "cm-open" };
function tagged(state: EditorState): DecorationSet {
  if (state.doc.length > LONGEST_TAGGED) return Decoration.none;
  return Decoration.set(
    tagsOf(state.doc.toString()).map(({ from, to, kind }) => Decoration.mark({ class: tagMarks[kind] }).range(from, to)),
    true,
  );
}
const braced = StateField.define<DecorationSet>({
  create: tagged,
  update: (value, transaction) => (transaction.docChanged ? tagged(transaction.state) : value),
  provide: (field) => EditorView.decorations.from(field),
});
const macros: Extension = [angled, braced];

const colours = Object.fromEntries(
  Array.from({ length: 12 }, (_, index) => [`.cm-o${index}`, { backgroundColor: `var(--o${index})`, borderRadius: "2px" }]),
);

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "transparent", fontSize: "var(--t3)", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--sans)", lineHeight: "1.5", overflow: "auto", scrollbarWidth: "thin" },
  ".cm-content": { padding: "5px 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 8px" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-macro": { color: "var(--accent)", backgroundColor: "var(--accent-tint)", borderRadius: "3px" },
  ".cm-block": { fontWeight: "600" },
  ".cm-open": { color: "var(--bad)", backgroundColor: "var(--bad-tint)", borderRadius: "3px" },
  ".cm-placeholder": { color: "var(--dim)" },
  ".cm-specialChar": { color: "var(--bad)", backgroundColor: "var(--bad-tint)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--dim)", border: "none", fontSize: "var(--t1)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  ".cm-found-place": { backgroundColor: "var(--accent-tint)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-panel input, .cm-panel button": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line-strong)", borderRadius: "4px", backgroundImage: "none" },
  ".cm-searchMatch": { backgroundColor: "var(--mark)" },
  ".cm-changedText": { background: "var(--good-tint) !important", borderBottom: "1px solid var(--good)" },
  ".cm-deletedChunk .cm-deletedText, .cm-merge-a .cm-changedText": { background: "var(--bad-tint) !important", borderBottom: "1px solid var(--bad)" },
  ".cm-changedLine": { backgroundColor: "color-mix(in srgb, var(--good-tint) 45%, transparent) !important" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "color-mix(in srgb, var(--bad-tint) 45%, transparent) !important" },
  ".cm-collapsedLines": { background: "var(--raised) !important", color: "var(--dim) !important", padding: "2px 8px" },
  ...colours,
});
// As specific as the theme, and of a higher precedence, so that it wins.
const code = Prec.high(EditorView.theme({ ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "var(--t2)" } }));

const jsonColours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.propertyName, color: "var(--accent)" },
    { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
    { tag: [tags.brace, tags.squareBracket, tags.separator], color: "var(--dim)" },
  ]),
);

const jsonLook: Extension = [json(), jsonColours, code, lineNumbers(), foldGutter(), bracketMatching(), highlightActiveLine(), highlightSelectionMatches()];

const setTints = StateEffect.define<readonly Tinted[]>();
const tints = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setTints)) continue;
      const builder = new RangeSetBuilder<Decoration>();
      const length = transaction.newDoc.length;
      for (const { from, to, colour, title } of effect.value) {
        if (to > from && to <= length) builder.add(from, to, Decoration.mark({ class: `cm-o${colour}`, attributes: { title } }));
      }
      return builder.finish();
    }
    return value.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const setPlace = StateEffect.define<{ from: number; to: number }>();
const place = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setPlace)) {
        const { from, to } = effect.value;
        return to > from ? Decoration.set([Decoration.mark({ class: "cm-found-place" }).range(from, to)]) : Decoration.none;
      }
    }
    return transaction.docChanged ? Decoration.none : value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function common(label: string): Extension {
  return [
    theme,
    EditorView.lineWrapping,
    highlightSpecialChars(),
    search({ top: true }),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
    keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...foldKeymap]),
  ];
}

/** A shadow root in an element; what the editor adds to it goes with it. */
export function room(host: HTMLElement): { root: ShadowRoot; parent: HTMLElement } {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const parent = document.createElement("div");
  parent.style.height = "100%";
  root.replaceChildren(parent);
  return { root, parent };
}

export class Editor {
  readonly #view: EditorView;
  readonly #readOnly = new Compartment();

  constructor(host: HTMLElement, options: EditorOptions) {
    const { root, parent } = room(host);
    const { onChange, onFocus } = options;
    this.#view = new EditorView({
      parent,
      root,
      state: EditorState.create({
        doc: options.text,
        extensions: [
          common(options.label),
          history(),
          { json: jsonLook, code, macros }[options.language],
          options.hint ? placeholder(options.hint) : [],
          this.#readOnly.of(options.readOnly ? [EditorState.readOnly.of(true), EditorView.contentAttributes.of({ "aria-readonly": "true" })] : []),
          tints,
          place,
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((one) => one.annotation(fromOutside))) onChange?.(update.state.doc.toString());
            if (update.focusChanged) onFocus?.(update.view.hasFocus);
          }),
        ],
      }),
    });
  }

  /** Show another text; what is the same stays, and with it the cursor. */
  setText(text: string): void {
    const { doc } = this.#view.state;
    if (doc.length === text.length && doc.toString() === text) return;
    const before = doc.toString();
    let from = 0;
    const shorter = Math.min(before.length, text.length);
    while (from < shorter && before.charCodeAt(from) === text.charCodeAt(from)) from += 1;
    let end = 0;
    while (end < shorter - from && before.charCodeAt(before.length - 1 - end) === text.charCodeAt(text.length - 1 - end)) end += 1;
    this.#view.dispatch({
      changes: { from, to: before.length - end, insert: text.slice(from, text.length - end) },
      annotations: fromOutside.of(true),
    });
  }

  setTints(ranges: readonly Tinted[]): void {
    this.#view.dispatch({ effects: setTints.of(ranges) });
  }

  /** Show the value at a place of a JSON document. */
  reveal(path: Path): void {
    const range = rangeOf(this.#view.state, path);
    if (!range) return;
    this.#view.dispatch({
      selection: { anchor: range.from },
      effects: [setPlace.of(range), EditorView.scrollIntoView(range.from, { y: "center" })],
    });
  }

  focus(): void {
    this.#view.focus();
  }

  destroy(): void {
    this.#view.destroy();
  }
}

/** Where the value at a path stands in a JSON text. */
export function rangeOf(state: EditorState, path: Path): { from: number; to: number } | null {
  const tree = ensureSyntaxTree(state, state.doc.length, 300);
  let node: SyntaxNode | null = tree?.topNode.firstChild ?? null;
  const isValue = (child: SyntaxNode): boolean => /^(Object|Array|String|Number|True|False|Null)$/.test(child.name);
  for (const step of path) {
    if (!node) return null;
    let next: SyntaxNode | null = null;
    let index = 0;
    for (let child = node.firstChild; child; child = child.nextSibling) {
      if (node.name === "Object" && child.name === "Property") {
        const key = child.firstChild;
        if (key && sameKey(state.sliceDoc(key.from, key.to), String(step))) next = child.lastChild;
      } else if (node.name === "Array" && isValue(child)) {
        if (index === Number(step)) next = child;
        index += 1;
      }
    }
    node = next;
  }
  return node ? { from: node.from, to: node.to } : null;
}

function sameKey(written: string, key: string): boolean {
  try {
    return JSON.parse(written) === key;
  } catch {
    return false;
  }
}

/** Two texts and what differs: side by side, or where there is no room below each other. */
export function difference(host: HTMLElement, before: string, after: string, labels: readonly [string, string], isJson: boolean, narrow: boolean): { destroy(): void } {
  const { root, parent } = room(host);
  const side = (label: string): Extension => [common(label), isJson ? [json(), jsonColours, code, lineNumbers()] : [], EditorState.readOnly.of(true), theme];
  const collapseUnchanged = { margin: 3, minSize: 6 };
  if (narrow) {
    return new EditorView({
      parent,
      root,
      doc: after,
      extensions: [side(labels[1]), unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged })],
    });
  }
  return new MergeView({
    parent,
    root,
    a: { doc: before, extensions: side(labels[0]) },
    b: { doc: after, extensions: side(labels[1]) },
    collapseUnchanged,
    diffConfig: { scanLimit: 2000, timeout: 1000 },
  });
}
