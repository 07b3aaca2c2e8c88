import type { StageDecision } from "../../../schemas/stages/decision.ts";
import type { StagesPlan } from "../plan.ts";

/** Core benchmarks beside each other: the baseline's score, each stage's, and what is left. */
export interface BenchmarkComparison {
  readonly columns: readonly string[];
  /** A row a benchmark; null: not judged. */
  readonly data: readonly (readonly (string | number | null)[])[];
}

/** A benchmark's check beside the original; the critical ones always are, a stage's may be its parent's. */
function checkOf(rows: readonly StageDecision[], benchmark: string): StageDecision | undefined {
  const own = rows.filter(({ subject, score }) => subject === benchmark && score !== null);
  return own.find(({ about }) => about === "critical") ?? own.find(({ about }) => about === "core");
}

/** The requirement's §5.2: of each stage its last attempt, the retention of what is shipped. */
export function benchmarkComparison(
  { core, stages }: StagesPlan,
  ledger: readonly StageDecision[],
): BenchmarkComparison {
  const last = stages.map((_, index) => {
    const own = ledger.filter(({ stage_index, attempt }) => stage_index === index && attempt > 0);
    const attempt = Math.max(...own.map((row) => row.attempt));
    return own.filter((row) => row.attempt === attempt);
  });
  const shipped = ledger.find(({ decision }) => decision === "ship");
  const kept = ledger.filter(({ attempt, trial_id }) =>
    attempt > 0 && shipped !== undefined && shipped.stage_index >= 0 &&
    trial_id === shipped.trial_id
  );
  return {
    columns: ["Benchmark", "Baseline", ...stages.map(({ name }) => name), "Final Retention"],
    data: core.map((benchmark) => {
      const found = last.map((rows) => checkOf(rows, benchmark));
      const baseline = found.find((row) => row !== undefined)?.reference ?? null;
      const scores = found.map((row) => row?.score ?? null);
      return [benchmark, baseline, ...scores, checkOf(kept, benchmark)?.value ?? null];
    }),
  };
}
