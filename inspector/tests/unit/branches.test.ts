import { describe, expect, it } from "vitest";

import { type Branches, forked, forks, nextIn, ONE, openBranch, read, reworded, switched, turned, withAnswer, withOpen, written } from "../../src/talk/branches.ts";

const chat = (...texts: string[]): unknown => [{ chat_metadata: {} }, ...texts.map((mes, index) => ({ name: "A", is_user: index % 2 === 0, mes }))];
const answer = (...texts: string[]): { swipes: { text: string; plan: null }[]; shown: number } => ({ swipes: texts.map((text) => ({ text, plan: null })), shown: 0 });

describe("branches", () => {
  it("share what was said before they part, and keep what the other says", () => {
    const two = forked(ONE, chat("hello", "who", "me"), 1);
    expect(two.open).toBe(2);
    expect(openBranch(two)).toMatchObject({ from: 1, at: 1, document: chat("hello") });
    expect(two.all[0]!.document).toEqual(chat("hello", "who", "me"));
    const back = switched(two, chat("hello", "otherwise"), 1);
    expect(openBranch(back).document).toEqual(chat("hello", "who", "me"));
    expect(back.all[1]!.document).toEqual(chat("hello", "otherwise"));
  });

  it("keep the answers before they part, and with them their plans", () => {
    const before = withOpen(ONE, { answers: withAnswer(openBranch(withOpen(ONE, { answers: new Map([[0, answer("a")]]) })), 2, answer("c")) });
    expect([...openBranch(forked(before, chat("a", "b", "c"), 2)).answers.keys()]).toEqual([0]);
  });

  it("leave the exchange that is not in the chat where it is", () => {
    const asked = withOpen(ONE, { last: { said: "and?", ...answer("no") } });
    const two = forked(asked, chat("a", "b"), 2);
    expect(two.all[0]!.last?.said).toBe("and?");
    expect(openBranch(two).last).toBeNull();
  });

  it("are known by where they part", () => {
    const two = forked(ONE, chat("a", "b", "c"), 1);
    const here = chat("a", "other");
    expect([...forks(two, here)].map(([at, all]) => [at, all.map((one) => one.id)])).toEqual([[1, [1]]]);
    expect(nextIn(two.all[1]!, here, 1)).toBe("other");
    const three: Branches = forked(two, here, 2);
    expect([...forks(three, chat("a", "other", "more")).keys()].sort()).toEqual([1, 2]);
  });
});

describe("branches that are written", () => {
  it("are read with all but their plans", () => {
    const said = withOpen(ONE, { answers: withAnswer(openBranch(ONE), 1, answer("b", "c")), last: { said: "and?", ...answer("no") } });
    const two = forked(said, chat("a", "b"), 2);
    const planned = withOpen(two, { answers: new Map([[1, { swipes: [{ text: "b", plan: {} as never, edited: true }], shown: 0 }]]) });
    const bare = withOpen(two, { answers: new Map([[1, { swipes: [{ text: "b", plan: null, edited: true }], shown: 0 }]]) });
    expect(read(written(planned))).toEqual(read(written(bare)));
    expect(read(written(bare))?.all[1]!.answers).toEqual(bare.all[1]!.answers);
    expect(read(written(bare))?.all[0]!.last).toEqual(bare.all[0]!.last);
  });

  it("are none where something else is kept", () => {
    for (const text of [null, "", "{}", "[1]", '{"all":[],"open":1}', '{"all":[{"id":2,"answers":3}],"open":2}']) expect(read(text)).toBeNull();
  });
});

describe("an answer", () => {
  it("shows another try, and never one that there is not", () => {
    expect(turned(answer("a", "b"), 1).shown).toBe(1);
    expect(turned(answer("a", "b"), -1).shown).toBe(0);
    expect(turned(answer("a"), 5).shown).toBe(0);
  });

  it("keeps its other tries and its plan when it is edited", () => {
    expect(reworded(answer("a", "b"), "x").swipes).toEqual([{ text: "x", plan: null, edited: true }, { text: "b", plan: null }]);
  });
});
