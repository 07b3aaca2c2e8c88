import type { DuckDBConnection } from "@duckdb/node-api";
import {
  type Comparand,
  type ComparedSpec,
  type ConstraintVerdict,
  RATIOS,
  type Spec,
} from "../../../../core/mod.ts";

/** What the sink reads of a study to compare its trials: by the names of the core. */
export interface StoredStudy {
  readonly spec: ComparedSpec & Pick<Spec, "assumptions">;
  readonly fp16_bytes: number;
  readonly trials: readonly Comparand[];
}

type Measured = Comparand["measurements"][number];
type Term = NonNullable<Comparand["reward"]>["terms"][number];
type Row = Record<string, unknown>;

/** What a comparison may read beside the objectives: ratios in turn, and bytes that tell forms apart. */
const COMPARED = [
  ...[...RATIOS].flatMap(([ratio, name]) => [ratio, name, `baseline_${name}`]),
  "size_bytes",
]
  .map((name) => `'${name}'`).join(", ");

/** Every figure that a comparison may read, in the order of the journal. */
const FIGURES = `
  SELECT m.trial_id, m.metric, m.value, m.standard_error, m.fidelity, m.provenance, m.task, m.slice,
    m.runtime, m.inference_precision, m.kv_precision, m.activation_group, m.n, t.stored_form
  FROM measurements m JOIN trials t USING (study_id, trial_id)
  WHERE m.study_id = $study_id AND t.state <> 'running'
    AND (m.metric IN (${COMPARED})
      OR m.metric IN (SELECT metric FROM objectives WHERE study_id = $study_id))
    AND (m.task IS NULL AND m.slice IS NULL)
  ORDER BY m.position, m.rowid`;

function text(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

function amount(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** Rows of one table by their trial, in the order given. */
function byTrial<T>(rows: readonly Row[], read: (row: Row) => T): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const id = String(row["trial_id"]);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, [read(row)]);
    else group.push(read(row));
  }
  return groups;
}

function measured(row: Row): Measured {
  const form = text(row["stored_form"]);
  return {
    metric: String(row["metric"]),
    value: Number(row["value"]),
    standard_error: amount(row["standard_error"]),
    fidelity: row["fidelity"] as Measured["fidelity"],
    provenance: row["provenance"] as Measured["provenance"],
    task: text(row["task"]),
    slice: text(row["slice"]),
    runtime: text(row["runtime"]),
    numerics: row["inference_precision"] === null ? null : {
      inference_precision: String(row["inference_precision"]),
      kv_precision: String(row["kv_precision"]),
      activation_group: Number(row["activation_group"]),
    },
    n: Number(row["n"]),
    ...(form === null ? {} : { form }),
    // What no comparison reads.
    unit: "",
    direction: "minimize",
    task_version: null,
    device: null,
    method: null,
  };
}

function verdict(row: Row): ConstraintVerdict {
  const [low, high] = [amount(row["interval_low"]), amount(row["interval_high"])];
  return {
    constraint: String(row["constraint_name"]),
    threshold: Number(row["threshold"]),
    value: amount(row["value"]),
    interval: low === null || high === null ? null : [low, high],
    verdict: row["verdict"] as ConstraintVerdict["verdict"],
    samples_to_decide: amount(row["samples_to_decide"]),
    ...(row["samples"] === null ? {} : {
      evidence: {
        samples: Number(row["samples"]),
        existing: amount(row["existing_samples"]),
        decided_at: amount(row["decided_at"]),
        exact: row["exact"] === true,
      },
    }),
  };
}

function term(row: Row): Term {
  return {
    term: row["term"] as Term["term"],
    weight: Number(row["weight"]),
    normalised: amount(row["normalised"]),
    contribution: Number(row["contribution"]),
    note: text(row["note"]),
  };
}

/** Reads a study's closed trials with what compares them; null where it is not opened. */
export async function readStoredStudy(
  connection: DuckDBConnection,
  study_id: string,
): Promise<StoredStudy | null> {
  const ask = async (sql: string): Promise<Row[]> =>
    (await connection.runAndReadAll(sql, { study_id })).getRowObjects();
  const where = "WHERE study_id = $study_id";
  const [study] = await ask(`SELECT * FROM studies ${where}`);
  if (study === undefined) return null;
  const objectives = await ask(`SELECT * FROM objectives ${where} ORDER BY rank`);
  const assumptions = await ask(`SELECT * FROM assumptions ${where} AND field = 'objectives'`);
  const figures = byTrial(await ask(FIGURES), measured);
  const terms = byTrial(await ask(`SELECT * FROM reward_terms ${where} ORDER BY rowid`), term);
  const verdicts = byTrial(
    await ask(`SELECT * FROM constraint_verdicts ${where} ORDER BY rowid`),
    verdict,
  );
  const rows = await ask(`SELECT * FROM trials ${where} AND state <> 'running' ORDER BY number`);
  return {
    spec: {
      objectives: objectives.map((row) => ({
        metric: String(row["metric"]),
        direction: row["direction"] === "maximize" ? "maximize" : "minimize",
        unit: String(row["unit"]),
      })),
      runtime: String(study["runtime"]),
      constraints: {
        max_accuracy_drop: Number(study["max_accuracy_drop"]),
        max_vram_gb: amount(study["max_vram_gb"]),
        max_latency_ms: amount(study["max_latency_ms"]),
        max_size_gb: amount(study["max_size_gb"]),
      },
      assumptions: assumptions.map((row) => ({
        field: String(row["field"]),
        value: text(row["value"]),
        source: row["source"] as Spec["assumptions"][number]["source"],
        reason: String(row["reason"]),
      })),
    },
    fp16_bytes: Number(study["fp16_bytes"] ?? 0),
    trials: rows.map((row) => comparand(row, figures, terms, verdicts)),
  };
}

function comparand(
  row: Row,
  figures: Map<string, Measured[]>,
  terms: Map<string, Term[]>,
  verdicts: Map<string, ConstraintVerdict[]>,
): Comparand {
  const trial_id = String(row["trial_id"]);
  const reward = amount(row["reward"]);
  const strategy_id = text(row["strategy_id"]);
  const origin = { sampler: "", mode: "seed" as const, reason: "" }; // which no comparison reads
  return {
    trial_id,
    number: Number(row["number"]),
    strategy: strategy_id === null ? null : { strategy_id, actions: [], origin },
    state: row["state"] as Comparand["state"],
    fidelity: row["fidelity"] as Comparand["fidelity"],
    measurements: figures.get(trial_id) ?? [],
    reward: reward === null ? null : { value: reward, terms: terms.get(trial_id) ?? [] },
    constraints: verdicts.get(trial_id) ?? [],
  };
}
