import { type ModelMessage, streamText } from "ai";
import type { Message } from "durable-a2a";
import { createWorkersAI } from "workers-ai-provider";

export interface ModelEnv {
  /** Workers AI; without it the reply is made up here, always the same for the same words. */
  AI?: Ai;
}

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

/** The reply to the last message of the conversation, piece by piece. */
export function reply(
  { AI }: ModelEnv,
  history: readonly Message[],
  signal: AbortSignal,
): AsyncIterable<string> {
  const messages = history.map(
    (message): ModelMessage => ({
      role: message.role === "ROLE_AGENT" ? "assistant" : "user",
      content: textOf(message),
    }),
  );
  if (!AI) return withoutModel(messages);
  // Any other provider of the AI SDK goes here, with its key in a secret: createOpenAI({ apiKey: env.OPENAI_API_KEY })
  const model = createWorkersAI({ binding: AI })(MODEL);
  return streamText({ model, messages, abortSignal: signal }).textStream;
}

async function* withoutModel(messages: readonly ModelMessage[]): AsyncGenerator<string> {
  const questions = messages.filter(({ role }) => role === "user");
  const text = `This is question ${questions.length}, and no model is configured: ${questions.at(-1)?.content}`;
  for (const word of text.split(/(?<= )/)) yield word;
}

function textOf({ parts }: Message): string {
  return parts.map(({ text = "" }) => text).join("");
}
