import { z } from "zod";
import { boundedText } from "../../ground/http/bounded.ts";
import { withoutSecrets } from "../../ground/http/without_secrets.ts";
import { ParticipantAway, ParticipantRefused } from "./guarded_fetch.ts";
import type { Participant } from "./participant.ts";
import { called, listedTools } from "./tools/tools.ts";

/** Answers of a model that call tools, one after the other, before it must answer in words. */
const MOST_ROUNDS = 8;
const MOST_CALLS = 16;

const Reply = z.object({
  choices: z.array(z.object({
    message: z.object({
      content: z.string().nullish(),
      tool_calls: z.array(z.object({
        id: z.string(),
        function: z.object({ name: z.string(), arguments: z.string() }),
      })).nullish(),
    }),
  })).min(1),
});

/** A model behind a server of OpenAI's chat interface. */
export interface ToolModel {
  /** Up to and with /v1. */
  readonly base_url: string;
  readonly model: string;
  readonly key: string | null;
  readonly timeout_ms: number;
}

type Said = Readonly<Record<string, unknown>>;

class Unsupported extends Error {}

async function reply(
  { base_url, model, key, timeout_ms }: ToolModel,
  messages: readonly Said[],
  tools: readonly unknown[] | null,
) {
  const asked = { model, messages, temperature: 0, max_tokens: 1024 };
  const answer = await fetch(`${base_url}/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify(tools === null ? asked : { ...asked, tools }),
    redirect: "error",
    signal: AbortSignal.timeout(timeout_ms),
  }).catch((error) => {
    throw new ParticipantAway(
      `its model cannot be reached (${String(error.message).slice(0, 120)})`,
    );
  });
  const said = await boundedText(answer).catch((error) => {
    throw new ParticipantRefused(`its model: ${error.message}`);
  });
  const text = withoutSecrets(said, key);
  if ([400, 404, 422, 501].includes(answer.status) && tools !== null) throw new Unsupported();
  if (answer.status === 429 || answer.status >= 500) {
    throw new ParticipantAway(`its model answers ${answer.status}`);
  }
  if (!answer.ok) throw new ParticipantRefused(`its model answers ${answer.status}`);
  try {
    return Reply.parse(JSON.parse(text)).choices[0]!.message;
  } catch {
    throw new ParticipantRefused("its model's answer is no chat completion");
  }
}

/**
 * A model as a participant: it may call a calculator and a price tool before it answers. A server that
 * takes no tools is asked without them.
 */
export function toolParticipant(model: ToolModel): Participant {
  let tools: readonly unknown[] | null = listedTools();
  const replied = async (messages: readonly Said[]) => {
    try {
      return await reply(model, messages, tools);
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error;
      tools = null;
      return await reply(model, messages, null);
    }
  };
  return {
    name: model.model,
    async ask(text) {
      const messages: Said[] = [{ role: "user", content: text }];
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const { content, tool_calls } = await replied(messages);
        if (tool_calls === null || tool_calls === undefined || tool_calls.length === 0) {
          return { text: content ?? "", context: "" };
        }
        messages.push({ role: "assistant", content: content ?? null, tool_calls });
        for (const one of tool_calls.slice(0, MOST_CALLS)) {
          const given = called(one.function.name, one.function.arguments);
          messages.push({ role: "tool", tool_call_id: one.id, content: given });
        }
      }
      throw new ParticipantRefused(`it calls tools ${MOST_ROUNDS} times and does not answer`);
    },
  };
}
