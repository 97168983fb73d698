// What the Vercel AI SDK makes of a service at an address, as one line of JSON.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";

globalThis.AI_SDK_LOG_WARNINGS = false; // its warnings go to standard output
const [baseURL, kind] = process.argv.slice(2);
const model = {
  responses: () => createOpenAI({ baseURL, apiKey: "none" })("inn"),
  anthropic: () => createAnthropic({ baseURL, apiKey: "none" })("inn"),
  compatible: () => createOpenAICompatible({ name: "inn", baseURL, includeUsage: true, supportsStructuredOutputs: true })("inn"),
}[kind]();

const whole = await generateText({ model, prompt: "Hello there", maxRetries: 0 });
let streamed = "";
for await (const piece of streamText({ model, prompt: "Hello there", maxRetries: 0 }).textStream) streamed += piece;
const weather = tool({ description: "See", inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } } }) });
const called = await generateText({ model, prompt: "the weather", tools: { weather }, maxRetries: 0 });
const runs = tool({ ...weather, execute: async ({ city }) => `fog in ${city}` });
const loop = { model, prompt: "the weather", tools: { weather: runs }, stopWhen: stepCountIs(2), maxRetries: 0 };
const answered = await generateText(loop);
let streamedAfterCall = "";
for await (const piece of streamText(loop).textStream) streamedAfterCall += piece;
const before = [{ role: "user", content: "My name is Ada" }];
const first = await generateText({ model, messages: before, maxRetries: 0 });
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const seen = [
  { type: "image", image: Buffer.from(pixel, "base64"), mediaType: "image/png" },
  { type: "text", text: "What is it" },
];
const messages = [...before, ...first.response.messages, { role: "user", content: seen }];
const second = await generateText({ model, messages, maxRetries: 0 });
const schema = jsonSchema({
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
  additionalProperties: false,
});
const made = await generateText({ model, prompt: "as json", output: Output.object({ schema }), maxRetries: 0 });

console.log(
  JSON.stringify({
    text: whole.text,
    usage: whole.usage.totalTokens,
    reason: whole.finishReason,
    streamed,
    calls: called.toolCalls.map(({ toolName, input }) => ({ name: toolName, input })),
    answered: answered.text,
    streamedAfterCall,
    object: made.output,
    second: second.text,
  }),
);
