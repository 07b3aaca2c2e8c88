import type { Sampler, SearchContext } from "../contract/plugin.ts";
import type { Consultation } from "../contract/shown.ts";
import { Answer } from "../schemas/proposal.ts";
import { seconds, untilTimeIsUp } from "./cost/budget.ts";
import { searchContext, shownOf } from "./search_context.ts";
import { record, type Study } from "./study.ts";

/** Which asking it is: the episode's number, and how often samplers were asked before in it. */
export interface Asking {
  readonly number: number;
  readonly ask: number;
}

/**
 * Asks a sampler and writes down what it was shown and what it answered, before anybody acts on it.
 * Null where it has nothing, fails or is not done when the study ends; a failure is told as a refusal.
 */
export async function askSampler(
  study: Study,
  sampler: Sampler,
  { number, ask }: Asking,
): Promise<Answer | null> {
  const context = {
    ...searchContext(study, number, ask),
    ...consultingFor(study, sampler, { number, ask }),
  };
  const shown = shownOf(context); // as it is now: a sampler that takes its time sees no later state
  const asked = study.ports.clock.now();
  const { answer, failure } = await answered(study, sampler, context);
  if (failure !== null) {
    study.refused.push({ strategy: `sampler ${sampler.name}`, reason: `it failed: ${failure}` });
  }
  await record(study, {
    type: "proposed",
    study_id: study.input.study_id,
    number,
    ask,
    sampler: sampler.name,
    shown,
    answer,
    failure,
    seconds: seconds(study, asked),
  });
  return answer;
}

async function answered(
  study: Study,
  sampler: Sampler,
  context: SearchContext,
): Promise<{ answer: Answer | null; failure: string | null }> {
  try {
    const made = await untilTimeIsUp(study, async () => await sampler.propose(context));
    if (made === "ended") return { answer: null, failure: "the study ended before it answered" };
    if (made === null) return { answer: null, failure: null };
    // A sampler may hand on a trial's resolved actions: only what an action is goes into a strategy.
    const actions = made.actions.map(({ agent, method, params }) => ({ agent, method, params }));
    const { mode, reason } = made.origin;
    return { answer: Answer.parse({ actions, origin: { mode, reason } }), failure: null };
  } catch (error) {
    return { answer: null, failure: String(error) };
  }
}

/**
 * The study's language model as a sampler may ask it; nothing where there is none. What was asked, what
 * came back and what the sampler makes of it is in the journal before the sampler goes on.
 */
function consultingFor(
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
