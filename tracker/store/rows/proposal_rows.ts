import { type JournalRecord, strategyWords } from "../../../core/mod.ts";
import { adds, type Change, moment } from "./change.ts";

type RecordOf<T extends JournalRecord["type"]> = Extract<JournalRecord, { type: T }>;

/** One asking of a sampler: what it was shown, what it answered. */
export function proposalRows(record: RecordOf<"proposed">, position: number): Change[] {
  const { study_id, number, ask, sampler, shown, answer, failure, seconds } = record;
  const { hash, trials, front, budget, ...lists } = shown;
  return adds("proposals", [{
    ...{ study_id, position, number, ask, sampler, failure, seconds },
    answered_at: moment(record.at),
    recipe: answer === null ? null : strategyWords(answer.actions),
    mode: answer?.origin.mode ?? null,
    reason: answer?.origin.reason ?? null,
    shown_hash: hash,
    shown_trials: trials,
    shown_front: front,
    ...lists,
    ...budget,
  }]);
}

/** One exchange with the study's language model. */
export function consultationRows(record: RecordOf<"consulted">, position: number): Change[] {
  const { at, messages, type: _, ...fields } = record;
  return adds("consultations", [{
    ...fields,
    position,
    answered_at: moment(at),
    prompt: messages.map(({ role, content }) => `${role}: ${content}`).join("\n\n"),
  }]);
}

/** Trials of earlier studies that samplers are shown. */
export function earlierTrialRows(
  { study_id, trials }: RecordOf<"earlier_trials_given">,
  position: number,
): Change[] {
  return adds(
    "earlier_trials",
    trials.map((one) => ({
      study_id,
      position,
      earlier_study_id: one.study_id,
      earlier_trial_id: one.trial_id,
      state: one.state,
      fidelity: one.fidelity,
      reward: one.reward,
    })),
  );
}

/** What formats cost the original, as samplers are shown it. */
export function formatLossRows(
  { study_id, losses }: RecordOf<"format_losses_given">,
  position: number,
): Change[] {
  return adds(
    "format_losses",
    losses.map(({ study_id: scored_study_id, ...loss }) => ({
      study_id,
      position,
      scored_study_id,
      ...loss,
    })),
  );
}
