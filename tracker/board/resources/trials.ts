import { FULL, unknownName, UsageError } from "../../../core/mod.ts";
import type { StudiesBeside, TrialsBeside } from "../../show/json/json_shapes.ts";
import { besideTrials } from "../../show/json/beside_trials.ts";
import { studiesBeside } from "../../show/json/beside.ts";
import { placeOf } from "../../artifacts/artifact_places.ts";
import type { Store } from "../../store/store.ts";
import { type BoardStores, oneRow } from "../board_stores.ts";
import { promptsOf } from "./prompts.ts";
import type { Row } from "./studies.ts";

/** Figures of answers are of a rung: those of the last one come first, others below, apart. */
const BY_RUNG = `t.fidelity IS NOT DISTINCT FROM '${FULL}' DESC`;

/** Orders of a list of trials, by the name that stands in the address. */
const ORDERS: Readonly<Record<string, string>> = {
  rank: "l.rank NULLS LAST, t.number",
  number: "t.number",
  accuracy: `${BY_RUNG}, f.accuracy DESC NULLS LAST`,
  perplexity: `${BY_RUNG}, f.perplexity NULLS LAST`,
  latency_ratio: "l.latency_ratio NULLS LAST",
  size_bytes: "f.size_bytes NULLS LAST",
  context_kv_bytes: "f.context_kv_bytes NULLS LAST",
  reward: `${BY_RUNG}, l.reward DESC NULLS LAST`,
};
export const TRIAL_ORDERS = Object.keys(ORDERS);

/** A part of a list; `total`: of the whole of it. */
export interface Page {
  readonly rows: Row[];
  readonly total: number;
  readonly page: number;
  readonly page_size: number;
}

export interface TrialPage {
  readonly order?: string | undefined;
  /** From 1. */
  readonly page: number;
  readonly page_size: number;
  /** Only those with this text in their name, methods or state. */
  readonly find?: string | undefined;
}

const MATCHES = `t.study_id = $study AND ($find = ''
  OR contains(lower(t.trial_id || ' ' || coalesce(t.readable_id, '') || ' ' ||
    coalesce(t.methods, '') || ' ' || t.state), lower($find)))`;

/** Trials of a study, a page of them: rows as `TrialFigures` names their columns. */
export async function listTrials(
  stores: BoardStores,
  study_id: string,
  { order = "rank", page, page_size, find = "" }: TrialPage,
): Promise<Page> {
  const sorted = ORDERS[order];
  if (sorted === undefined) throw new UsageError(unknownName("order", order, TRIAL_ORDERS));
  const store = await stores.of(study_id);
  // The page is cut from the list of names before the views are asked for their figures.
  const sql = `
    SELECT count(*) OVER () AS total, t.trial_id, t.number, t.readable_id, t.methods, t.state,
      t.fidelity, l.rank, f.accuracy, f.accuracy_standard_error, f.perplexity, l.latency_ratio,
      l.latency_ratio_low, l.latency_ratio_high, f.size_bytes, f.memory_bytes, f.context_kv_bytes, l.reward,
      l.on_front, l.violated, l.undecided, l.recommended
    FROM trials t
    LEFT JOIN (SELECT * FROM leaderboard_wide WHERE study_id = $study) l
      ON l.trial_id = t.trial_id
    LEFT JOIN trial_figures f ON f.study_id = t.study_id AND f.trial_id = t.trial_id
    WHERE ${MATCHES}
    ORDER BY ${sorted} LIMIT $limit OFFSET $offset`;
  const params = {
    ...{ study: study_id, find, limit: page_size },
    offset: (page - 1) * page_size,
  };
  const rows = await store.ask(sql, { params });
  const total = await totalOf(store, sql, params, rows);
  return { rows: rows.map(({ total: _, ...row }) => row), total, page, page_size };
}

/** How many rows a list has in all, also where a page behind its end was asked for. */
async function totalOf(
  store: Store,
  sql: string,
  params: { readonly offset: number; readonly [name: string]: string | number },
  rows: readonly Row[],
): Promise<number> {
  const [row] = rows.length > 0 || params.offset === 0
    ? rows
    : await store.ask(sql, { params: { ...params, limit: 1, offset: 0 } });
  return Number(row?.["total"] ?? 0);
}

const TRIAL = `
SELECT t.*, f.accuracy, f.accuracy_standard_error, f.accuracy_n, f.perplexity, f.size_bytes,
  f.memory_bytes, f.energy_j_per_1k_tokens, f.energy_reader, c.latency_ratio, c.latency_ratio_low,
  c.latency_ratio_high, c.latency_ms, c.reward AS compared_reward, s.recommended = t.trial_id
    AS recommended, s.model_name,
  (SELECT b.trial_id FROM trials b WHERE b.study_id = t.study_id AND b.strategy_id IS NULL
    AND b.state = 'completed' ORDER BY b.number LIMIT 1) AS baseline,
  (SELECT list(x ORDER BY x.action_index) FROM (SELECT a.action_index, a.agent, a.method,
    a.artifact_id, (SELECT list({knob: k.knob, value: k.value, requested: k.requested,
      resolved_by: k.resolved_by, reason: k.reason} ORDER BY k.knob) FROM knobs k
      WHERE k.trial_id = a.trial_id AND k.study_id = a.study_id
        AND k.action_index = a.action_index) AS knobs
    FROM actions a WHERE a.study_id = t.study_id AND a.trial_id = t.trial_id) x) AS actions,
  (SELECT list({task: d.task, metric: d.metric, difference: d.difference, low: d.difference_low,
    high: d.difference_high, n: d.n, wins: d.wins, losses: d.losses}) FROM paired_differences d
    WHERE d.study_id = t.study_id AND d.trial_id = t.trial_id) AS differences,
  (SELECT list({constraint_name: v.constraint_name, verdict: v.verdict, value: v.value,
    threshold: v.threshold}) FROM constraint_verdicts v
    WHERE v.study_id = t.study_id AND v.trial_id = t.trial_id) AS verdicts,
  (SELECT list({gate: g.gate, decision: g.decision, reason: g.reason} ORDER BY g.gate_index)
    FROM gate_decisions g WHERE g.study_id = t.study_id AND g.trial_id = t.trial_id) AS gates,
  (SELECT list({metric: h.metric, value: h.value, unit: h.unit, standard_error: h.standard_error,
    n: h.n, fidelity: h.fidelity, provenance: h.provenance, runtime: h.runtime} ORDER BY h.metric)
    FROM headline h WHERE h.study_id = t.study_id AND h.trial_id = t.trial_id) AS measurements,
  (SELECT list(x ORDER BY x.latency_ms) FROM (SELECT runtime, inference_precision, kv_precision,
    activation_group, threads, latency_ms, latency_ratio, baseline_precision FROM timings w
    WHERE w.study_id = t.study_id AND w.trial_id = t.trial_id) x) AS timings,
  (SELECT list({artifact_id: l.artifact_id, parent_id: l.parent_id, depth: l.depth,
    recipe: l.recipe, size_bytes: l.size_bytes, minimum_cosine: l.minimum_cosine}
    ORDER BY l.depth) FROM lineage l WHERE l.artifact_id IN
    (SELECT artifact_id FROM trial_artifacts ta WHERE ta.study_id = t.study_id
      AND ta.trial_id = t.trial_id)) AS artifacts,
  (SELECT list({written_at: n.written_at, text: n.text} ORDER BY n.position) FROM notes n
    WHERE n.study_id = t.study_id AND n.trial_id = t.trial_id) AS notes,
  (SELECT list({happened_at: a.happened_at, condition: a.condition, evidence: a.evidence,
    outcome: a.outcome} ORDER BY a.position) FROM alerts a
    WHERE a.study_id = t.study_id AND a.trial_id = t.trial_id) AS alerts,
  (SELECT list({call: w.call, path: w.path, bytes: w.bytes} ORDER BY w.position) FROM logs w
    WHERE w.study_id = t.study_id AND w.trial_id = t.trial_id) AS logs
FROM trials t JOIN studies s USING (study_id)
LEFT JOIN trial_figures f ON f.study_id = t.study_id AND f.trial_id = t.trial_id
LEFT JOIN compared_trials c ON c.study_id = t.study_id AND c.trial_id = t.trial_id
WHERE t.study_id = $study AND t.trial_id = $trial`;

const LISTS = [
  ...["actions", "differences", "verdicts", "gates", "measurements", "artifacts", "notes"],
  ...["alerts", "logs", "timings"],
];

/** The whole name of a trial: `t03` is of the study that the address names. */
export function trialId(study_id: string, name: string): string {
  return name.startsWith(`${study_id}/`) ? name : `${study_id}/${name}`;
}

async function unknownTrial(store: Store, study_id: string, name: string): Promise<UsageError> {
  const rows = await store.ask("SELECT trial_id FROM trials WHERE study_id = $study", {
    params: { study: study_id },
  });
  return new UsageError(unknownName("trial", name, rows.map((row) => String(row["trial_id"]))));
}

/** One trial with its recipe, figures, paired differences, gates, artifacts and notes. */
export async function readTrial(stores: BoardStores, study_id: string, name: string): Promise<Row> {
  const store = await stores.of(study_id);
  const trial = trialId(study_id, name);
  const row = await oneRow(store, TRIAL, { study: study_id, trial });
  if (row["trial_id"] === undefined) throw await unknownTrial(store, study_id, trial);
  const artifacts = await Promise.all((row["artifacts"] as Row[] | null ?? []).map(async (one) => ({
    ...one,
    location: await placeOf(String(one["artifact_id"]), store.paths.root),
  })));
  const lists = LISTS.map((list) => [list, row[list] ?? []]);
  return { ...row, ...Object.fromEntries(lists), artifacts };
}

// Of a million samples the names alone are sorted and counted; a page's texts are looked up then.
const FLIPS = `WITH found AS MATERIALIZED (
  SELECT fidelity, task, sample_id, sample_hash, reference_score, other_score, metric, difference, won
  FROM sample_pairs($first, $second)
  WHERE ($task = '' OR task = $task) AND fidelity = '${FULL}' AND
    difference <> 0 AND ($which = 'changed' OR won = ($which = 'won'))
), shown AS MATERIALIZED (
  SELECT * FROM found
  ORDER BY task, TRY_CAST(sample_id AS BIGINT), sample_id LIMIT $limit OFFSET $offset
)
SELECT (SELECT count(*) FROM found) AS total, f.fidelity, f.task, f.sample_id, a.gold,
  a.answer AS reference_answer, b.answer AS other_answer, f.reference_score, f.other_score,
  f.metric, f.difference
FROM shown f
JOIN samples a ON a.trial_id = $first AND a.fidelity = f.fidelity AND a.task = f.task
  AND a.sample_hash = f.sample_hash AND a.sample_id = f.sample_id
JOIN samples b ON b.trial_id = $second AND b.fidelity = f.fidelity AND b.task = f.task
  AND b.sample_hash = f.sample_hash
ORDER BY f.task, TRY_CAST(f.sample_id AS BIGINT), f.sample_id`;

export interface FlipPage {
  readonly which: "won" | "lost" | "changed";
  readonly task?: string | undefined;
  readonly page: number;
  readonly page_size: number;
}

/** Samples that the second trial won from or lost to the first, with their prompts where known. */
export async function listFlips(
  store: Store,
  [first, second]: readonly [string, string],
  { which, task = "", page, page_size }: FlipPage,
): Promise<Page> {
  const params = {
    ...{ first, second, which, task, limit: page_size },
    offset: (page - 1) * page_size,
  };
  const rows = await store.ask(FLIPS, { params });
  const prompts = await promptsOf(store, second.slice(0, second.lastIndexOf("/")), rows);
  return {
    rows: rows.map(({ total: _, ...row }, at) => ({ ...row, prompt: prompts[at] ?? null })),
    ...{ total: await totalOf(store, FLIPS, params, rows), page, page_size },
  };
}

/** Two studies of one store beside each other, as `pare compare` has them; null: neither is a study. */
export async function compareStudies(
  stores: BoardStores,
  first: string,
  second: string,
): Promise<StudiesBeside | null> {
  const { answers } = await stores.each(async (store) =>
    new Set((await store.studies()).map(({ study_id }) => study_id))
  );
  const has = (name: string) => answers.some((here) => here.has(name));
  if (!has(first) && !has(second)) return null;
  if (!has(first) || !has(second)) {
    const [study, other] = has(first) ? [first, second] : [second, first];
    throw new UsageError(
      `Cannot compare the study ${study} with ${other}: name two studies, or two trials`,
    );
  }
  const store = await stores.of(first);
  if (await stores.of(second) !== store) {
    throw new UsageError(`Cannot compare ${first} with ${second}: they lie in two stores`);
  }
  return await studiesBeside(store, first, second);
}

/** Two trials of one store beside each other, as `pare compare` has them. */
export async function readComparison(
  stores: BoardStores,
  first: string,
  second: string,
): Promise<{ beside: TrialsBeside; store: Store }> {
  const studyOfTrial = (name: string) => name.slice(0, Math.max(0, name.lastIndexOf("/")));
  const store = await stores.of(studyOfTrial(first));
  if (await stores.of(studyOfTrial(second)) !== store) {
    throw new UsageError(`Cannot compare ${first} with ${second}: they lie in two stores`);
  }
  return { beside: await besideTrials(store, first, second), store };
}
