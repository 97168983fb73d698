import { describe, expect, it } from "vitest";

import { continued, messagesOf } from "../../src/files/chat.ts";
import { withInserted } from "../../src/format/paths.ts";

const tavern = { header: {}, messages: [{ name: "Wenna", is_user: false, mes: "Come in." }, { name: "Ansel", is_user: true, mes: "Thanks." }] };

describe("a chat", () => {
  it("has its messages wherever the file has them", () => {
    expect(messagesOf(tavern).map(({ name, user, text }) => [name, user, text])).toEqual([
      ["Wenna", false, ["messages", 0, "mes"]],
      ["Ansel", true, ["messages", 1, "mes"]],
    ]);
    expect(messagesOf([{ chat_metadata: {} }, { role: "user", content: "Hi" }])).toEqual([{ path: [1], text: [1, "content"], name: "user", user: true }]);
    expect(messagesOf("no chat")).toEqual([]);
  });

  it("goes on in the shape that it has", () => {
    const after = continued(tavern, "Is it late?", "Past nine.").reduce<unknown>((done, { path, value }) => withInserted(done, path, value), tavern);
    expect(messagesOf(after).slice(2).map(({ name, user }) => [name, user])).toEqual([["Ansel", true], ["Wenna", false]]);
    expect(continued([{ role: "user", content: "Hi" }], null, "Hello.")).toEqual([{ path: [1], value: { role: "assistant", content: "Hello." } }]);
  });
});
