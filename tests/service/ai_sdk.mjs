// What the Vercel AI SDK makes of a service at an address, as one line of JSON.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, Output, streamText, tool } from "ai";

const [baseURL, kind] = process.argv.slice(2);
const model =
  kind === "responses"
    ? createOpenAI({ baseURL, apiKey: "none" }).responses("inn")
    : createOpenAICompatible({ name: "inn", baseURL, includeUsage: true, supportsStructuredOutputs: true })("inn");

const whole = await generateText({ model, prompt: "Hello there", maxRetries: 0 });
let streamed = "";
for await (const piece of streamText({ model, prompt: "Hello there", maxRetries: 0 }).textStream) streamed += piece;
const weather = tool({ description: "See", inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } } }) });
const called = await generateText({ model, prompt: "the weather", tools: { weather }, maxRetries: 0 });
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
    object: made.output,
  }),
);
