import type { Evaluation } from "../ports.ts";
import type { Measurement, SampleResult } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import { ownRow } from "./quality.ts";
import { chanceOf, mayBeGuessing } from "./retention.ts";
import { pairBySample, pairedInterval } from "./statistics.ts";

/** A result that looks like a fault of the measurement or of the model, with what it was seen by. */
export interface HealthFinding {
  readonly condition:
    | "score_of_zero"
    | "not_above_guessing"
    | "score_too_good"
    | "not_a_number"
    | "empty_answers"
    | "one_answer_for_all"
    | "input_truncated";
  readonly evidence: string;
}

/** Share of a task's answers that may be empty: a model may have nothing to say now and then. */
const EMPTY_SHARE = 0.1;
/** Fewer answers than this may all be the same by chance. */
const FEWEST_ANSWERS = 10;
/**
 * A score is too good where the 95 % paired interval of its difference to the baseline lies wholly
 * beyond this: accuracy points, or nats per token, which are about 5 % of a perplexity. Compression
 * loses or keeps; a gain that no chance explains is a leak, a changed prompt or a broken rule, or
 * training on the task, which the reader then knows of.
 */
const TOO_GOOD_MARGIN = 0.05;

/** Sample ids in evidence: enough to look at some. */
const IDS_SHOWN = 5;

/** One task's evaluation beside the baseline's of the same fidelity. */
interface TaskResults {
  readonly row: Measurement;
  readonly samples: readonly SampleResult[];
  readonly reference: { row: Measurement; samples: readonly SampleResult[] } | null;
  /** Score of guessing, where this is the baseline and not told from it; null: it is, or is another. */
  readonly guessing: number | null;
  /** How prompts were changed on their way; absent: they were not, or nobody kept it. */
  readonly prompting: string | undefined;
}

type Rule = (results: TaskResults) => HealthFinding["evidence"] | null;

const RULES: Readonly<Record<HealthFinding["condition"], Rule>> = {
  not_a_number: notANumber,
  score_of_zero: scoreOfZero,
  not_above_guessing: notAboveGuessing,
  score_too_good: tooGood,
  empty_answers: emptyAnswers,
  one_answer_for_all: oneAnswer,
  input_truncated: truncated,
};

/**
 * What is suspicious in an evaluation, task by task. `reference` is the baseline's at the same
 * fidelity, null for the baseline itself.
 */
export function healthFindings(
  spec: Spec,
  evaluation: Evaluation,
  reference: Evaluation | null,
): HealthFinding[] {
  return spec.tasks.flatMap((plan) => {
    const { task } = plan;
    const results = resultsOf(evaluation, plan);
    if (results === null) return [];
    const beside = reference === null ? null : resultsOf(reference, plan);
    const unsure = reference === null && mayBeGuessing(results.row, spec);
    const guessing = unsure ? chanceOf(results.row, spec) : null;
    const prompting = evaluation.protocol_parts?.[task]?.["prompting"];
    return Object.entries(RULES).flatMap(([condition, rule]) => {
      const evidence = rule({ ...results, reference: beside, guessing, prompting });
      return evidence === null ? [] : [{
        condition: condition as HealthFinding["condition"], // a key of RULES
        evidence: `${task}, ${results.row.fidelity}: ${evidence}`,
      }];
    });
  });
}

function resultsOf({ measurements, samples }: Evaluation, plan: Spec["tasks"][number]) {
  const row = ownRow(measurements, plan);
  if (row === undefined) return null;
  return { row, samples: samples.filter((sample) => sample.task === plan.task) };
}

function idsOf(samples: readonly SampleResult[]): string {
  const shown = samples.slice(0, IDS_SHOWN).map(({ sample_id }) => sample_id).join(", ");
  return `sample ids ${shown}${samples.length > IDS_SHOWN ? ", …" : ""}`;
}

function notANumber({ row, samples }: TaskResults): string | null {
  const broken = samples.filter(({ score }) => !Number.isFinite(score));
  if (Number.isFinite(row.value) && broken.length === 0) return null;
  const which = broken.length === 0 ? "" : `; ${idsOf(broken)}`;
  return `${row.metric} is ${row.value}, ${broken.length} of ${samples.length} samples have no ` +
    `finite score${which}`;
}

/** A score whose baseline is 0 too was told of with the baseline. */
function scoreOfZero({ row, samples, reference, prompting }: TaskResults): string | null {
  if (row.direction !== "maximize" || row.value !== 0 || reference?.row.value === 0) return null;
  const beside = reference === null ? "" : `, the baseline's is ${reference.row.value.toFixed(4)}`;
  const cause = causeOfZero(samples, prompting);
  return `${row.metric} is exactly 0 on ${row.n} samples${beside}; ${idsOf(samples)}` +
    (cause === null ? "" : `; a likely cause: ${cause}`);
}

/** What most often makes every answer wrong, the surest sign first; null: none of it is seen. */
function causeOfZero(samples: readonly SampleResult[], prompting?: string): string | null {
  if (writtenIn(samples).filter((one) => lengthOf(one) === 0).length === samples.length) {
    return "every answer is empty";
  }
  if (samples.every(({ cut_tokens }) => (cut_tokens ?? 0) > 0)) {
    return "every prompt is longer than the model reads, and what was cut may be the question";
  }
  if (prompting?.startsWith("chat template")) {
    return "the chat template, in which worked examples are not gone on with: leave it out";
  }
  const written = samples.filter(({ answer }) => answer !== null);
  const unread = written.filter(({ parsed_answer }) => parsed_answer === null);
  return written.length > 0 && unread.length === written.length
    ? "no answer has the form that is looked for"
    : null;
}

/** Zero is told of as such. */
function notAboveGuessing({ row, guessing }: TaskResults): string | null {
  if (guessing === null || row.value === 0) return null;
  return `${row.metric} is ${row.value.toFixed(4)} (standard error ` +
    `${(row.standard_error ?? 0).toFixed(4)}) on ${row.n} samples, guessing gives ` +
    `${guessing.toFixed(4)}: differences on this task decide nothing`;
}

function tooGood({ row, samples, reference }: TaskResults): string | null {
  if (reference === null) return null;
  const { pairs } = pairBySample(reference.samples, samples);
  const interval = pairs.every((pair) => Number.isFinite(pair.score - pair.reference))
    ? pairedInterval(pairs)
    : null;
  if (interval === null) return null;
  const sign = row.direction === "maximize" ? 1 : -1;
  const sure = sign * interval.centre - interval.half_width;
  if (sure <= TOO_GOOD_MARGIN) return null;
  const better = new Set(
    pairs.flatMap((pair) => sign * (pair.score - pair.reference) > 0 ? pair.sample_hash : []),
  );
  const gained = samples.filter(({ sample_hash }) => better.has(sample_hash));
  return `${row.metric} is ${row.value.toFixed(4)}, the baseline's ` +
    `${reference.row.value.toFixed(4)}; over ${pairs.length} paired samples the score is better ` +
    `by at least ${sure.toFixed(3)} (95 %), more than ${TOO_GOOD_MARGIN}; ` +
    `${gained.length} samples gained, ${idsOf(gained)}`;
}

/** Characters of the whole answer; null where the task has no answers in words. */
function lengthOf({ answer, answer_length }: SampleResult): number | null {
  return answer === null || answer.trim() !== "" ? answer_length ?? answer?.length ?? null : 0;
}

/** Choices are never empty, and a word that was not predicted is wrong, not empty. */
function writtenIn(samples: readonly SampleResult[]): SampleResult[] {
  return samples.filter((one) => one.log_likelihood === null && lengthOf(one) !== null);
}

function emptyAnswers({ samples }: TaskResults): string | null {
  const written = writtenIn(samples);
  const empty = written.filter((one) => lengthOf(one) === 0);
  if (written.length === 0 || empty.length < EMPTY_SHARE * written.length) return null;
  const share = (100 * empty.length / written.length).toFixed(0);
  return `${empty.length} of ${written.length} answers (${share} %) are empty; ${idsOf(empty)}`;
}

function oneAnswer({ samples }: TaskResults): string | null {
  const chosen = samples.flatMap(({ chosen }) => chosen ?? []);
  const answers = samples.flatMap((one) =>
    one.chosen === undefined || one.chosen === null ? one.answer ?? [] : []
  );
  const golds = new Set(samples.map(({ gold }) => gold));
  if (golds.size < 2) return null;
  if (isOneOf(chosen)) {
    return `all ${chosen.length} answers are choice ${chosen[0]} (from 0); ${idsOf(samples)}`;
  }
  // An answer in words that only right ones have, such as a predicted word, says nothing.
  if (answers.length < samples.length || !isOneOf(answers) || answers[0]?.trim() === "") {
    return null;
  }
  const text = JSON.stringify(answers[0]?.slice(0, 60));
  return `all ${answers.length} answers are ${text}, the right ones are ${golds.size} different ` +
    `texts; ${idsOf(samples)}`;
}

function isOneOf(values: readonly (string | number)[]): boolean {
  return values.length >= FEWEST_ANSWERS && new Set(values).size === 1;
}

function truncated({ samples }: TaskResults): string | null {
  const cut = samples.filter(({ cut_tokens }) => (cut_tokens ?? 0) > 0);
  if (cut.length === 0) return null;
  const most = cut.reduce((sum, { cut_tokens }) => Math.max(sum, cut_tokens ?? 0), 0);
  return `${cut.length} of ${samples.length} inputs are longer than the model reads and lost up to ` +
    `${most} tokens; ${idsOf(cut)}`;
}
