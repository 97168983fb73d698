/** The branches of a chat: ways it goes on, each with its messages and the plans that made its answers. Values all of it. */

import type { InspectionView } from "../api/types.ts";
import { textsOf, upTo } from "../files/chat.ts";

/** One try of an answer; `edited` after its text was. */
export interface Swipe {
  readonly text: string;
  readonly plan: InspectionView | null;
  readonly edited?: boolean;
}

/** An answer in all its tries, and which of them is shown. */
export interface Answer {
  readonly swipes: readonly Swipe[];
  readonly shown: number;
}

/** What was said last and its answer: not yet in the chat, so that another try is an answer to the same. */
export interface Exchange extends Answer {
  readonly said: string | null;
}

export interface Branch {
  readonly id: number;
  /** The branch that it left, and after how many messages; null for the chat as it was opened. */
  readonly from: number | null;
  readonly at: number;
  /** The chat when the branch was left; of the open branch, the file has it. */
  readonly document: unknown;
  /** Answers that are in the chat, by the index of their message. */
  readonly answers: ReadonlyMap<number, Answer>;
  readonly last: Exchange | null;
}

export interface Branches {
  readonly all: readonly Branch[];
  readonly open: number;
}

export const ONE: Branches = { all: [{ id: 1, from: null, at: 0, document: undefined, answers: new Map(), last: null }], open: 1 };

export const openBranch = ({ all, open }: Branches): Branch => all.find((branch) => branch.id === open)!;

export const shownSwipe = (answer: Answer): Swipe => answer.swipes[answer.shown]!;

/** The branches with the open one changed. */
export const withOpen = (branches: Branches, change: Partial<Branch>): Branches => ({
  ...branches,
  all: branches.all.map((branch) => (branch.id === branches.open ? { ...branch, ...change } : branch)),
});

/** Leave a branch, whose chat is as it is given, and go on after so many messages of it in a new one, which is open then. */
export function forked(branches: Branches, document: unknown, at: number): Branches {
  const left = withOpen(branches, { document });
  const { id: from, answers } = openBranch(left);
  const id = Math.max(...left.all.map((branch) => branch.id)) + 1;
  const kept = new Map([...answers].filter(([index]) => index < at));
  return { all: [...left.all, { id, from, at, document: upTo(document, at), answers: kept, last: null }], open: id };
}

/** Leave a branch, whose chat is as it is given, for another. */
export const switched = (branches: Branches, document: unknown, to: number): Branches => ({ ...withOpen(branches, { document }), open: to });

/** The answers with one more; of it `text` is shown. */
export const withAnswer = (branch: Branch, index: number, answer: Answer): ReadonlyMap<number, Answer> => new Map(branch.answers).set(index, answer);

/** An answer with another text in the try that is shown. */
export const reworded = (answer: Answer, text: string): Answer => ({
  ...answer,
  swipes: answer.swipes.with(answer.shown, { ...shownSwipe(answer), text, edited: true }),
});

/** An answer with another of its tries shown. */
export const turned = <Some extends Answer>(answer: Some, by: number): Some => ({
  ...answer,
  shown: Math.max(0, Math.min(answer.swipes.length - 1, answer.shown + by)),
});

const planless = <Some extends Answer>(answer: Some): Some => ({ ...answer, swipes: answer.swipes.map((swipe) => ({ ...swipe, plan: null })) });

/** Branches as a text that a browser keeps; plans, which are large, are not in it. */
export const written = ({ all, open }: Branches): string =>
  JSON.stringify({
    open,
    all: all.map(({ answers, last, ...branch }) => ({
      ...branch,
      answers: [...answers].map(([index, answer]) => [index, planless(answer)]),
      last: last && planless(last),
    })),
  });

/** The branches that such a text holds; null where it holds none. */
export function read(text: string | null): Branches | null {
  try {
    const { all, open } = JSON.parse(text ?? "") as Branches & { all: (Branch & { answers: [number, Answer][] })[] };
    const branches = all.map((branch) => ({ ...branch, answers: new Map(branch.answers) }));
    return branches.some(({ id }) => id === open) ? { all: branches, open } : null;
  } catch {
    return null;
  }
}

/** What is said in a branch: its chat, and the exchange after it. */
function saidIn(document: unknown, last: Exchange | null): readonly string[] {
  return [...textsOf(document), ...(last ? [...(last.said ? [last.said] : []), shownSwipe(last).text] : [])];
}

/** After how many messages of the open branch, whose chat is given, the others go their own way. */
export function forks(branches: Branches, document: unknown): ReadonlyMap<number, readonly Branch[]> {
  const here = saidIn(document, openBranch(branches).last);
  const out = new Map<number, Branch[]>();
  for (const branch of branches.all) {
    if (branch.id === branches.open) continue;
    const there = saidIn(branch.document, branch.last);
    const differs = here.findIndex((text, index) => text !== there[index]);
    const at = differs < 0 ? here.length : differs;
    out.set(at, [...(out.get(at) ?? []), branch]);
  }
  return out;
}

/** What a branch says after so many messages, or last: that tells it from others. */
export function nextIn(branch: Branch, document: unknown, messages: number): string {
  const said = saidIn(document, branch.last);
  return said[messages] ?? said.at(-1) ?? "";
}
