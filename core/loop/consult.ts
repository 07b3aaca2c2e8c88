import type { Consultation, Sampler, SearchContext } from "../contract/plugin.ts";
import { seconds } from "./budget.ts";
import { record, type Study } from "./study.ts";

/** Which asking of a sampler it is. */
interface Asking {
  readonly number: number;
  readonly ask: number;
}

/**
 * The study's language model as a sampler may ask it; nothing where there is none. What was asked, what
 * came back and what the sampler makes of it is in the journal before the sampler goes on.
 */
export function consultingFor(
  study: Study,
  { name: sampler }: Sampler,
  asking: Asking,
): Pick<SearchContext, "consult"> {
  const { chat, signal, clock } = study.ports;
  if (chat === undefined) return {};
  let exchange = 0;
  let told = 0;
  return {
    async consult<T>({ messages, evidence, read }: Consultation<T>) {
      const started = clock.now();
      const reply = await chat.ask(messages, signal);
      const took = seconds(study, started);
      const reading = reply.ok ? read(reply.text) : { refused: reply.reason };
      await record(study, {
        type: "consulted",
        study_id: study.input.study_id,
        ...asking,
        exchange: exchange++,
        sampler,
        base_url: chat.base_url,
        model: reply.model,
        messages: messages.slice(told).map(({ role, content }) => ({ role, content })),
        evidence: [...evidence],
        reply: reply.ok ? reply.text : null,
        outcome: !reply.ok ? "failed" : "value" in reading ? "proposed" : "refused",
        reason: "refused" in reading ? reading.refused : null,
        seconds: took,
      });
      told = messages.length;
      return { reply: reply.ok ? reply.text : null, ...reading };
    },
  };
}
