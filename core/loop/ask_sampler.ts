import type { Sampler, SearchContext } from "../contract/plugin.ts";
import { Answer } from "../schemas/proposal.ts";
import { seconds, untilTimeIsUp } from "./budget.ts";
import { consultingFor } from "./consult.ts";
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
