import {
  agreementOf,
  type Both,
  krippendorffAlpha,
} from "../../core/evidence/judging/agreement.ts";
import {
  lengthBias,
  type PlaceWon,
  positionBias,
  selfPreference,
} from "../../core/evidence/judging/biases.ts";
import { bootstrapInterval } from "../../core/evidence/judging/bootstrap.ts";
import { correctedScore } from "../../core/evidence/judging/corrected_score.ts";
import { mean } from "../../core/evidence/statistics.ts";
import { AGAINST, JudgeCheck, unknownName, UsageError } from "../../core/mod.ts";
import type { Gold } from "../lab/judging/labels.ts";
import type { Store } from "../store/store.ts";

/** What a judge is held against. */
export interface CheckAsked {
  /** Whose answers, such as STUDY/t00. */
  readonly trial_id: string;
  /** Default: the only one that was judged. */
  readonly task?: string;
  readonly scorer?: string;
  /** What people said. */
  readonly gold?: Gold;
  /** Other trials whose answers the same judge scored: whether it favours its own. */
  readonly beside?: readonly string[];
  /** Of the bootstrap. */
  readonly seed: number;
}

interface Scoring {
  readonly fidelity: string;
  readonly task: string;
  readonly scorer: string;
  readonly scorer_version: string;
  readonly metric: string;
  readonly position: number;
  readonly rubric_version: string | null;
  readonly judges: string;
}

/** An answer with what it was given. */
interface Answer {
  readonly sample_id: string;
  readonly sample_hash: string;
  readonly judged: number;
  /** By the task's own scorer, where that is no judge and gives shares. */
  readonly rule: number | null;
  readonly length: number | null;
  /** By the judge's earlier scoring of the same answer by the same rubric. */
  readonly again: number | null;
  readonly model_name: string;
}

interface Verdict {
  readonly sample_hash: string;
  readonly judge: string;
  readonly question: string;
  readonly verdict: string | null;
  readonly score: number | null;
  readonly obtained: string | null;
}

/** Every scoring by a judge of a trial's answers, the newest first. */
const SCORINGS = `
SELECT s.fidelity, s.task, s.scorer, s.scorer_version, s.position,
  arg_min(s.metric, s.metric <> 'judge_score') AS metric,
  any_value(v.rubric_version) AS rubric_version,
  string_agg(DISTINCT v.judge, ', ' ORDER BY v.judge) AS judges
FROM scorings s JOIN verdicts v USING (study_id, trial_id, fidelity, task, scorer, position)
WHERE s.trial_id = $trial AND s.slice IS NULL
GROUP BY ALL ORDER BY s.position DESC`;

const ANSWERS = `
SELECT c.sample_id, c.sample_hash, c.score AS judged, x.answer_length AS length,
  CASE WHEN x.score BETWEEN 0 AND 1 THEN x.score END AS rule, e.score AS again,
  j.model_name
FROM scores c
JOIN studies j USING (study_id)
LEFT JOIN samples x USING (study_id, trial_id, fidelity, task, sample_hash)
LEFT JOIN scores e ON e.trial_id = c.trial_id AND e.fidelity = c.fidelity AND e.task = c.task
  AND e.sample_hash = c.sample_hash AND e.scorer = c.scorer AND e.metric = c.metric
  AND e.position = $before
WHERE c.trial_id = $trial AND c.fidelity = $fidelity AND c.task = $task AND c.scorer = $scorer
  AND c.metric = $metric AND c.position = $position AND c.score IS NOT NULL
ORDER BY c.sample_hash`;

const VERDICTS = `
SELECT sample_hash, judge, question, verdict, score, obtained FROM verdicts
WHERE trial_id = $trial AND fidelity = $fidelity AND task = $task AND scorer = $scorer
  AND position = $position ORDER BY sample_hash, question, judge`;

async function rowsOf<T>(store: Store, text: string, params: Record<string, unknown>) {
  const { rows } = await store.wholeQuery(text, { params: params as never }); // bound, never spliced
  return rows as unknown as T[]; // as the statement has them
}

/** The newest scoring that is meant, and the one before it by the same judges and rubric. */
async function scoringOf(store: Store, { trial_id, task, scorer }: CheckAsked) {
  const found = await rowsOf<Scoring>(store, SCORINGS, { trial: trial_id });
  const meant = found.filter((one) =>
    (task === undefined || one.task === task) && (scorer === undefined || one.scorer === scorer)
  );
  const [newest] = meant;
  if (newest === undefined) {
    const tasks = [...new Set(found.map((one) => one.task))];
    throw new UsageError(
      found.length === 0
        ? `Cannot check a judge of ${trial_id}: none of its answers was judged (pare score ` +
          "--rescore --judge-endpoint URL judges them)"
        : unknownName("judged task", task ?? scorer ?? "", tasks),
    );
  }
  const others = [...new Set(meant.map((one) => one.task))];
  if (others.length > 1) {
    throw new UsageError(
      `Cannot check a judge of ${others.length} tasks at once: name one by --task (${
        others.join(", ")
      })`,
    );
  }
  const same = meant.slice(1).find((one) =>
    one.scorer === newest.scorer && one.rubric_version === newest.rubric_version &&
    one.judges === newest.judges
  );
  return { newest, before: same?.position ?? null };
}

/** The mean of an answer's labels; null: it has none. */
function labelOf(gold: Gold | undefined, answer: Answer): number | null {
  const labels = gold?.labels.get(String(answer[gold.by]));
  return labels === undefined ? null : mean(labels);
}

function pairsWith(answers: readonly Answer[], other: (answer: Answer) => number | null): Both[] {
  return answers.flatMap((one) => {
    const value = other(one);
    return value === null ? [] : [[value, one.judged] as const];
  });
}

/** Of two judges, the first's and the second's score of each answer. */
function judgePairs(verdicts: readonly Verdict[]): Both[] {
  const [first, second] = [...new Set(verdicts.map(({ judge }) => judge))].sort();
  if (second === undefined) return [];
  const read = verdicts.filter(({ verdict, score }) => verdict !== null && score !== null);
  const of = (judge: string) =>
    new Map(
      [...Map.groupBy(read.filter((one) => one.judge === judge), (one) => one.sample_hash)]
        .map(([hash, own]) => [hash, mean(own.map(({ score }) => score!))]), // each has one
    );
  const other = of(second);
  return [...of(first!)].flatMap(([hash, score]) => {
    const beside = other.get(hash);
    return beside === undefined ? [] : [[beside, score] as const];
  });
}

/** Who won each pair of answers, in either order. */
function placesWon(verdicts: readonly Verdict[]): (readonly [PlaceWon, PlaceWon])[] {
  const placed = (verdict: string | null, answerFirst: boolean): PlaceWon | null =>
    verdict === "tie"
      ? "tie"
      : verdict === "answer" || verdict === "other"
      ? (verdict === "answer") === answerFirst ? "first" : "second"
      : null;
  const groups = Map.groupBy(verdicts, (one) => `${one.judge}\n${one.sample_hash}`);
  return [...groups.values()].flatMap((own) => {
    const at = (end: string) => own.find(({ question }) => question.endsWith(end))?.verdict ?? null;
    const first = placed(at(", answer first"), true);
    const second = placed(at(", reference first"), false);
    return first === null || second === null ? [] : [[first, second] as const];
  });
}

async function answersOf(store: Store, trial: string, newest: Scoring, before: number | null) {
  const { fidelity, task, scorer, metric, position } = newest;
  const own = { trial, fidelity, task, scorer, metric, position, before };
  return await rowsOf<Answer>(store, ANSWERS, own);
}

/** Answers of other trials that the same judges scored by the same rubric. */
async function besideOf(store: Store, { beside = [], ...asked }: CheckAsked, newest: Scoring) {
  const found: Answer[] = [];
  for (const trial_id of beside) {
    const other = await scoringOf(store, {
      ...asked,
      trial_id,
      task: newest.task,
      scorer: newest.scorer,
    });
    if (
      other.newest.judges !== newest.judges || other.newest.rubric_version !== newest.rubric_version
    ) {
      throw new UsageError(
        `Cannot compare with ${trial_id}: its answers were judged by ${other.newest.judges}, or another rubric`,
      );
    }
    found.push(...await answersOf(store, trial_id, other.newest, null));
  }
  return found;
}

/** Answers with what they are worth: by their label, else by the rule. */
function worthOf(
  answers: readonly Answer[],
  judges: readonly string[],
  worth: (answer: Answer) => number | null,
) {
  return answers.flatMap((one) => {
    const value = worth(one);
    if (value === null) return [];
    const own = judges.includes(one.model_name);
    return [{ judged: one.judged, worth: value, length: Number(one.length ?? 0), own }];
  });
}

/** Verdicts by how they were come by. */
function waysOf(verdicts: readonly Verdict[]): Record<string, number> {
  const ways = Map.groupBy(
    verdicts,
    ({ obtained, verdict }) => obtained ?? (verdict === null ? "unread" : "asked"),
  );
  return Object.fromEntries([...ways].map(([way, own]) => [way, own.length]));
}

/** Answers that the judge scored: of the others it could read nothing, and the task's rule stood in. */
function judgedThemselves(answers: readonly Answer[], verdicts: readonly Verdict[]): Answer[] {
  const ruled = new Set(
    verdicts.filter(({ obtained }) => obtained === "rule").map(({ sample_hash }) => sample_hash),
  );
  return answers.filter(({ sample_hash }) => !ruled.has(sample_hash));
}

/** The labels of these answers, and what they correct: the figure as it stands, whoever scored. */
function byLabels(answers: readonly Answer[], gold: Gold | undefined, seed: number) {
  const labelled = answers.flatMap((one) => {
    const label = labelOf(gold, one);
    return label === null ? [] : [{ label, judged: one.judged, sample_hash: one.sample_hash }];
  });
  const known = new Set(labelled.map(({ sample_hash }) => sample_hash));
  const others = answers.filter(({ sample_hash }) => !known.has(sample_hash));
  const several = [...gold?.labels.values() ?? []].filter((own) => own.length > 1);
  const alpha = krippendorffAlpha(several);
  const interval = bootstrapInterval(several, (of) => krippendorffAlpha(of), seed);
  return {
    labelled,
    labellers: alpha === null ? null : { value: alpha, interval },
    corrected: correctedScore(labelled, others.map(({ judged }) => judged)),
  };
}

/**
 * How good a judge is: how far its scores of a trial's answers agree with labels, the task's rule, a
 * second judge and itself, what they have of place and length, and what labels correct.
 *
 * @throws UsageError nothing was judged, or no label is of these answers
 */
export async function checkJudge(store: Store, asked: CheckAsked): Promise<JudgeCheck> {
  const { gold, seed, trial_id } = asked;
  const { newest, before } = await scoringOf(store, asked);
  const { position, judges: named, ...scoring } = newest;
  const answers = await answersOf(store, trial_id, newest, before);
  const { fidelity, task, scorer } = newest;
  const of = { trial: trial_id, fidelity, task, scorer, position };
  const verdicts = await rowsOf<Verdict>(store, VERDICTS, of);
  const beside = await besideOf(store, asked, newest);
  const { labelled, labellers, corrected } = byLabels(answers, gold, seed);
  if (gold !== undefined && labelled.length === 0) {
    throw new UsageError(
      `Cannot check a judge by these labels: none of ${gold.labels.size} is of an answer of ` +
        `${trial_id} to ${task} (by ${gold.by}, such as ${answers[0]?.[gold.by]})`,
    );
  }
  const judges = named.split(", ");
  const rule = (one: Answer) => one.rule;
  const worth = gold === undefined ? rule : (one: Answer) => labelOf(gold, one);
  const themselves = judgedThemselves(answers, verdicts);
  const against = {
    labels: pairsWith(themselves, (one) => labelOf(gold, one)),
    rule: pairsWith(themselves, rule),
    second_judge: judgePairs(verdicts),
    again: pairsWith(themselves, (one) => one.again),
  };
  return JudgeCheck.parse({
    ...{ trial_id, ...scoring, judges, answers: answers.length, obtained: waysOf(verdicts) },
    ...{ labels: labelled.length, gold_sha256: gold?.sha256 ?? null, labellers },
    agreement: AGAINST.flatMap((name) => {
      const found = agreementOf(against[name], seed);
      return found === null ? [] : [{ against: name, ...found }];
    }),
    position: positionBias(placesWon(verdicts)),
    length: lengthBias(worthOf(themselves, judges, worth), seed),
    // Labels are of this trial's answers alone: beside others' all are worth what the rule says.
    own: selfPreference(
      worthOf([...themselves, ...beside], judges, beside.length === 0 ? worth : rule),
      seed,
    ),
    corrected: corrected === null ? null : {
      ...{ score: corrected.score, interval: corrected.interval, judged: corrected.judged },
      labels_score: corrected.labels.score,
      labels_interval: corrected.labels.interval,
      ...{ lambda: corrected.lambda, because: corrected.because },
    },
  });
}
