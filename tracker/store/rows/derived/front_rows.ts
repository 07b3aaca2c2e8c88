import type { DuckDBAppender, DuckDBConnection } from "@duckdb/node-api";
import {
  type Comparable,
  comparableStudy,
  type Comparand,
  frontOf,
  latencyFigure,
  objectivesSentence,
  pointOf,
  standingsOf,
  yardstickOf,
} from "../../../../core/mod.ts";
import { listOf } from "./changed_trials.ts";
import { readStoredStudy, type StoredStudy } from "./compared_rows.ts";

interface Placed {
  readonly trial_id: string;
  readonly rank: number;
  readonly contribution: number | null;
}

/** A study as the core compares it. */
interface ComparedStudy {
  readonly objectives: readonly string[];
  readonly note: string | null;
  readonly trials: readonly Comparable<Comparand>[];
  readonly placed: readonly Placed[];
}

/** Compares a study's trials by the rules of the core, and none of its own. */
function compared({ spec, fp16_bytes, trials }: StoredStudy): ComparedStudy {
  const study = comparableStudy(trials, spec);
  const { members, dominated } = frontOf(study);
  const eligible = [...members, ...dominated].sort((a, b) => a.trial.number - b.trial.number);
  const baseline = study.trials.find(({ strategy, state }) =>
    strategy === null && state === "completed"
  );
  const place = baseline === undefined ? null : pointOf(baseline, study.spec);
  const known = place !== null && "point" in place ? place.point : null;
  const { objectives } = study.spec;
  // Without a baseline there is no yardstick: ranks alone, which no scale changes.
  const yardstick = yardstickOf(objectives, known ?? objectives.map(() => 1), fp16_bytes);
  const found = standingsOf(eligible.map(({ point }) => point), yardstick);
  return {
    objectives: objectives.map(({ metric }) => metric),
    note: objectivesSentence(study),
    trials: study.trials,
    placed: eligible.map(({ trial }, i) => ({
      trial_id: trial.trial_id,
      rank: found[i]!.rank,
      contribution: known === null ? null : found[i]!.contribution,
    })),
  };
}

type Cell = string | number | bigint | null | readonly string[];

function append(appender: DuckDBAppender, cells: readonly Cell[]): void {
  for (const cell of cells) {
    if (cell === null) appender.appendNull();
    else if (typeof cell === "string") appender.appendVarchar(cell);
    else if (typeof cell === "bigint") appender.appendBigInt(cell);
    else if (typeof cell === "number") appender.appendDouble(cell);
    else appender.appendValue(listOf(cell).value, listOf(cell).type);
  }
  appender.endRow();
}

async function write(
  connection: DuckDBConnection,
  table: string,
  study_id: string,
  rows: readonly (readonly Cell[])[],
): Promise<void> {
  await connection.run(`DELETE FROM ${table} WHERE study_id = $study_id`, { study_id });
  const appender = await connection.createAppender(table);
  try {
    for (const row of rows) append(appender, [study_id, ...row]);
  } finally {
    appender.closeSync();
  }
}

/** A trial's row of `compared_trials`. */
function comparedRow({ trial_id, latency, reward, constraints }: Comparable<Comparand>): Cell[] {
  const named = (verdict: string) =>
    constraints.filter((one) => one.verdict === verdict).map(({ constraint }) => constraint).sort();
  return [
    trial_id,
    latency?.ratio ?? null,
    latency?.interval?.[0] ?? null,
    latency?.interval?.[1] ?? null,
    latency?.ms ?? null,
    latency === null ? null : latencyFigure(latency).standard_error,
    latency === null ? null : BigInt(latency.sessions),
    reward?.value ?? null,
    named("violated"),
    named("undecided"),
  ];
}

/** Writes anew how the trials of a study compare and where they stand; the caller holds the
 * transaction. */
export async function refreshFront(connection: DuckDBConnection, study_id: string): Promise<void> {
  const stored = await readStoredStudy(connection, study_id);
  const study = stored === null ? null : compared(stored);
  await write(connection, "compared_trials", study_id, study?.trials.map(comparedRow) ?? []);
  const placed = study?.placed.map(({ trial_id, rank, contribution }) => [
    trial_id,
    BigInt(rank),
    contribution,
  ]);
  await write(connection, "front_points", study_id, placed ?? []);
  if (study === null) return;
  await connection.run(
    "UPDATE studies SET front_objectives = $objectives, front_note = $note WHERE study_id = $study_id",
    { objectives: listOf(study.objectives).value, note: study.note, study_id },
    { objectives: listOf(study.objectives).type },
  );
}
