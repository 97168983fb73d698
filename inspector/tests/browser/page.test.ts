import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { answer, CHROMIUM, launch, recorded, serve, type Recorded } from "./service.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const HOSTILE = [
  '<img src=x onerror="window.ran=1">', "<script>window.ran=1</script>", "javascript:window.ran=1", '"><svg onload=window.ran=1>', "{@html '<b>'}", "\u202egnp.exe",
  "a\u0000b", "x".repeat(20_000), "<style>*{display:none}</style>", "\u2067\u2066".repeat(50), "{{constructor.constructor('window.ran=1')()}}",
];

// Why these are left out is told by their name.
describe.skipIf(!existsSync(CHROMIUM))(`the page in a browser (${CHROMIUM}, or what CHROMIUM names)`, () => {
  let service: { address: string; close: () => void };
  let browser: Browser;
  const problems: string[] = [];

  beforeAll(async () => {
    service = await serve();
    browser = await launch();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    service?.close();
  });

  async function opened(session: Recorded = recorded(), width = 1440): Promise<Page> {
    const page = await browser.newPage({ viewport: { width, height: 860 }, locale: "en" });
    page.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    page.on("request", (request) => !request.url().startsWith(new URL(service.address).origin) && !request.url().startsWith("blob:") && problems.push(`asked ${request.url()}`));
    await answer(page, session);
    await page.goto(service.address);
    await page.waitForSelector(width > 860 ? "article" : "#view", { state: "attached" });
    return page;
  }

  async function violations(page: Page): Promise<string[]> {
    await page.evaluate(`${axe};0`);
    return page.evaluate(async () => {
      const { axe } = window as unknown as { axe: { run(root: Document): Promise<{ violations: { id: string; nodes: { target: unknown[] }[] }[] }> } };
      return (await axe.run(document)).violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`);
    });
  }

  it("shows the prompt, changes it with each key, and breaks no rule of its policy", { timeout: 120_000 }, async () => {
    const page = await opened();
    expect(await page.locator("article").count()).toBe(recorded().inspection.messages.length);
    await page.locator("#message").fill("And the reef?");
    await page.locator("article", { hasText: "And the reef?" }).waitFor();
    await page.close();
    expect(problems.splice(0)).toEqual([]);
  });

  it("leads from text to its field, and from a verdict to the text that fired it", { timeout: 120_000 }, async () => {
    const page = await opened();
    await page.locator(".piece", { hasText: "came ashore with the mail boat" }).click();
    await page.waitForFunction(() => document.activeElement?.shadowRoot?.activeElement?.getAttribute("aria-label") === "Scenario");
    await page.locator(".verdict", { hasText: "The mail boat" }).click();
    await page.locator(".piece.marked", { hasText: "ferry" }).waitFor();
    await page.close();
    expect(problems.splice(0)).toEqual([]);
  });

  it("is worked by the keyboard alone", { timeout: 120_000 }, async () => {
    const page = await opened();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("mail boat");
    await page.locator("[role=option]", { hasText: "The mail boat" }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".detail", { hasText: "The mail boat" }).waitFor();
    await page.keyboard.press("Alt+2");
    await page.waitForFunction(() => document.activeElement?.matches("article"));
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement?.closest("[data-index]")?.getAttribute("data-index") === "1");
    for (const [keys, view] of [["Alt+3", "wire"], ["Alt+4", "compare"], ["Alt+5", "talk"]] as const) {
      await page.keyboard.press(keys);
      await page.locator(`#view[aria-labelledby="view-${view}"]`).waitFor();
    }
    await page.close();
    expect(problems.splice(0)).toEqual([]);
  });

  it("has a name for everything, and contrast, in every view, theme and language", { timeout: 240_000 }, async () => {
    const page = await opened();
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const keys of ["Alt+2", "Alt+3", "Alt+4", "Alt+5", "Alt+7", "Alt+8", "Control+k"]) {
        await page.keyboard.press(keys);
        await page.waitForTimeout(300); // a view that is still loading has less to look at, none of it wrong
        expect(await violations(page), `${scheme} ${keys}`).toEqual([]);
        if (keys === "Control+k") await page.keyboard.press("Escape");
      }
    }
    await page.locator("header select[lang], select[aria-label=Language]").selectOption("zh");
    await page.locator("html[lang=zh-Hans]").waitFor();
    await page.getByRole("tab", { name: "原因" }).click();
    expect(await violations(page), "zh").toEqual([]);
    await page.close();
    expect(problems.splice(0)).toEqual([]);
  });

  it("fits a phone", { timeout: 120_000 }, async () => {
    const page = await opened(recorded(), 360);
    for (const tab of ["Files", "Why", "Prompt"]) {
      await page.locator(".panes").getByRole("tab", { name: tab }).click();
      expect(await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth))).toBeLessThanOrEqual(360);
      expect(await violations(page), tab).toEqual([]);
    }
    await page.close();
    expect(problems.splice(0)).toEqual([]);
  });

  it("runs and renders nothing of a hostile card", { timeout: 240_000 }, async () => {
    const session = recorded();
    const { workspace, inspection, documents } = session;
    workspace.title = HOSTILE[0]!;
    workspace.files.forEach((file, index) => (file.name = HOSTILE[index % HOSTILE.length]!));
    inspection.messages.forEach((message, index) => {
      const bad = HOSTILE[index % HOSTILE.length]!;
      Object.assign(message, { name: bad, slot: bad, pieces: [{ text: bad, origin: 0 }] });
    });
    inspection.verdicts.forEach((verdict, index) => {
      const bad = HOSTILE[index % HOSTILE.length]!;
      Object.assign(verdict, { title: bad, book: bad, text: bad, key: bad, position: bad });
    });
    inspection.origins.forEach((origin, index) => Object.assign(origin, { label: HOSTILE[index % HOSTILE.length] }));
    const data = (documents["wenna.json"] as { data: Record<string, unknown> }).data;
    for (const key of Object.keys(data)) if (typeof data[key] === "string") data[key] = HOSTILE.join("\n");
    const page = await opened(session);
    await page.locator(".verdict").first().click();
    await page.locator("article").first().hover();
    for (const tab of ["Lorebook", "JSON", "Wire", "Compare", "Notes"]) await page.getByRole("tab", { name: tab }).first().click();
    expect(await page.evaluate(() => (window as unknown as { ran?: number }).ran)).toBeUndefined();
    expect(await page.locator("img[src=x], article script, svg[onload], bdi *:not(.control)").count()).toBe(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440);
    await page.close();
    expect(problems.splice(0)).toEqual([]);
  });

  it("saves after showing what changes, and talks", { timeout: 120_000 }, async () => {
    const page = await opened();
    await page.locator(".field", { hasText: "Nickname" }).locator("input").fill("Wen");
    await page.getByRole("button", { name: "Save 1 …" }).click();
    await page.locator("dialog ins", { hasText: "Wen" }).waitFor();
    await page.locator("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await page.locator(".notice.good").waitFor();
    await page.keyboard.press("Alt+5");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".bubble", { hasText: "Not tonight." }).waitFor();
    await page.close();
    expect(problems.splice(0)).toEqual([]);
  });
});
