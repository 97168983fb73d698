import { describe, expect, it, vi } from "vitest";

import { Live, type LiveState, type Socket } from "../../src/api/live.ts";
import type { LiveReply, LiveRequest, SharedChange } from "../../src/api/types.ts";

class FakeSocket implements Socket {
  readyState = 1;
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  readonly sent: LiveRequest[] = [];
  send(text: string): void {
    this.sent.push(JSON.parse(text) as LiveRequest);
  }
  close(): void {
    this.onclose?.();
  }
  answer(serial: number): void {
    this.onmessage?.({ data: JSON.stringify({ serial, took_ms: 1, inspection: {}, files: [] }) });
  }
}

function started(): { live: Live; socket: FakeSocket; replies: LiveReply[]; states: [LiveState, boolean][]; shared: SharedChange[] } {
  const socket = new FakeSocket();
  const replies: LiveReply[] = [];
  const states: [LiveState, boolean][] = [];
  const shared: SharedChange[] = [];
  const live = new Live({ reply: (reply) => replies.push(reply), failure: () => undefined, files: () => undefined, shared: (change) => shared.push(change), state: (state, lost) => states.push([state, lost]) }, () => socket, () => 0);
  live.start();
  socket.onopen?.();
  return { live, socket, replies, states, shared };
}
const soon = (): Promise<void> => Promise.resolve();

describe("the live connection", () => {
  it("asks for the prompt as it opens", () => {
    expect(started().socket.sent).toEqual([{ serial: 1, edits: [] }]);
  });

  it("has one request on its way, and sends what changed meanwhile with the next", async () => {
    const { live, socket } = started();
    for (const value of ["a", "ab", "abc"]) {
      live.send([{ file: "f", path: ["x"], value }]);
      await soon();
    }
    live.send([], { message: "m" });
    await soon();
    expect(socket.sent).toHaveLength(1);
    socket.answer(1);
    expect(socket.sent[1]).toEqual({ serial: 2, edits: [{ file: "f", path: ["x"], value: "abc" }], settings: { message: "m" } });
  });

  it("keeps edits whose order counts", async () => {
    const { live, socket } = started();
    socket.answer(1);
    live.send([{ file: "f", path: ["l", 0], remove: true }, { file: "f", path: ["l", 0], remove: true }]);
    await soon();
    expect(socket.sent[1]?.edits).toHaveLength(2);
  });

  it("passes on what is newest, and nothing twice", async () => {
    const { live, socket, replies } = started();
    socket.answer(1);
    socket.answer(1);
    live.send([], { turn: 1 });
    await soon();
    socket.answer(1);
    socket.answer(2);
    expect(replies.map((reply) => reply.serial)).toEqual([1, 2]);
    expect(live.waiting).toBe(false);
  });

  it("comes back, and says when something was lost", () => {
    vi.useFakeTimers();
    const { socket, states } = started();
    socket.close();
    expect(states.at(-1)).toEqual(["closed", true]);
    vi.advanceTimersByTime(300);
    expect(states.at(-1)).toEqual(["connecting", false]);
    vi.useRealTimers();
  });

  it("hands on what another page changed, and knows whether its own changes came in", async () => {
    const { live, socket, shared } = started();
    socket.answer(1);
    expect(live.changing).toBe(false);
    socket.onmessage?.({ data: JSON.stringify({ shared: { reload: true } }) });
    expect(shared).toEqual([{ reload: true }]);
    live.send([]);
    await soon();
    expect([live.waiting, live.changing]).toEqual([true, false]);
    live.send([{ file: "f", path: ["x"], value: 1 }]);
    expect(live.changing).toBe(true);
    socket.answer(2);
    expect([socket.sent.length, live.changing]).toEqual([3, true]);
    socket.answer(3);
    expect(live.changing).toBe(false);
  });
});
