import { describe, expect, it } from "vitest";

import { assetForm, chosen, FORMS, type FormName, isSet, placed, spellingOf } from "../../src/files/forms.ts";
import en from "../../src/words/en.json" with { type: "json" };
import zh from "../../src/words/zh.json" with { type: "json" };

const at = (document: unknown, form: FormName, name: string) => placed(document, [], form).find(({ field }) => field.name === name)!;

describe("forms that are made from the readers", () => {
  it.each(Object.keys(FORMS) as FormName[])("have words for every field, group and choice of %s", (form) => {
    for (const { name, group, choices = [] } of FORMS[form]) {
      for (const word of [`field.${name}`, `form.${group}`, ...choices.map(([, code]) => `choice.${code}`)]) {
        expect(Object.hasOwn(en, word) && Object.hasOwn(zh, word), word).toBe(true);
      }
    }
  });

  it("have no words for what is no field", () => {
    const known = new Set(Object.values(FORMS).flatMap((fields) => fields.map(({ name }) => name)));
    const named = Object.keys(en).filter((key) => /^(field|help)\./.test(key)).map((key) => key.slice(key.indexOf(".") + 1));
    expect(named.filter((name) => !known.has(name) && !["maybe", "yes", "no"].includes(name))).toEqual([]);
  });

  it("write in the words of the entry", () => {
    const world = { uid: 0, key: ["a"], order: 1, disable: true };
    const card = { keys: ["a"], insertion_order: 1, enabled: true, extensions: { position: 4 } };
    expect([spellingOf(world), spellingOf(card)]).toEqual(["world", "card"]);
    expect(at(world, "entry", "keys").path).toEqual(["key"]);
    expect(at(card, "entry", "sticky").path).toEqual(["extensions", "sticky"]);
    expect(at(card, "entry", "position").path).toEqual(["extensions", "position"]);
    expect(at({ keys: [], position: "after_char", enabled: true }, "entry", "position").path).toEqual(["position"]);
    expect(at(world, "entry", "enabled")).toMatchObject({ path: ["disable"], inverted: true });
    expect(at({ temp_openai: 1 }, "preset", "temperature").path).toEqual(["temp_openai"]);
  });

  it("know what is set", () => {
    const world = { uid: 0, key: [], disable: false, excludeRecursion: true, selectiveLogic: 0, scanDepth: null, delayUntilRecursion: false, position: 4 };
    const set = placed(world, [], "entry").filter((one) => isSet(one, world)).map(({ field }) => field.name);
    expect(set).toEqual(["position", "exclude_recursion"]);
  });

  it("find a choice by its number or its word", () => {
    const { choices = [] } = at({}, "prompt", "position").field;
    expect([1, "in_chat", "in-chat"].map((value) => chosen(choices, value)?.[1])).toEqual(["in_chat", "in_chat", "in_chat"]);
  });

  it("know a template by its fields", () => {
    expect(assetForm({ name: "x", input_sequence: "", output_sequence: "", wrap: true })).toBe("instruct");
    expect(assetForm({ name: "x", story_string: "" })).toBe("context");
    expect(assetForm({ prompts: [], temperature: 1, new_chat_prompt: "" })).toBe("preset");
    expect(assetForm({ unknown: 1 })).toBeNull();
  });
});
