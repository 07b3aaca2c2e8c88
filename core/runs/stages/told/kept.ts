import { z } from "zod";
import type { StageDecision } from "../../../schemas/stages/decision.ts";
import type { StagesPlan } from "../plan.ts";
import type { Trial } from "../../../schemas/trial.ts";

const number = z.number().nullable();

/** What of a benchmark is left in what is shipped; null: it was not measured or not judged. */
export const Kept = z.strictObject({
  baseline: number,
  final: number,
  retention: number.describe("of what lies above guessing"),
  interval: z.tuple([z.number(), z.number()]).nullable(),
});
export type Kept = z.infer<typeof Kept>;

/** What a handoff's figures are looked up in. */
export interface Shipped {
  readonly plan: StagesPlan;
  readonly ledger: readonly StageDecision[];
  /** Of what is shipped; the baseline's where that is the original. */
  readonly trial: Trial | undefined;
  readonly baseline: Trial | undefined;
}

/** Whether the original is what is shipped. */
function isOriginal({ trial, baseline }: Shipped): boolean {
  return trial?.trial_id === baseline?.trial_id;
}

/** The rows of the attempt that is shipped; of the original none. */
export function ownRows({ ledger, trial }: Shipped): StageDecision[] {
  return ledger.filter(({ trial_id, attempt }) => trial_id === trial?.trial_id && attempt > 0);
}

/** A task's accuracy in a trial on each rung, in the order in which they were climbed. */
function accuracies(trial: Trial | undefined, task: string): Map<string, number> {
  const rows = trial?.measurements.filter((row) =>
    row.metric === "accuracy" && row.task === task && row.slice === null
  );
  return new Map(rows?.map(({ fidelity, value }) => [fidelity, value]));
}

/** A task's accuracy in the original and in what is shipped, on the highest rung of both. */
function measuredOf({ trial, baseline }: Shipped, task: string): [number, number] | null {
  const [before, own] = [accuracies(baseline, task), accuracies(trial, task)];
  const rung = [...own.keys()].findLast((one) => before.has(one));
  return rung === undefined ? null : [before.get(rung)!, own.get(rung)!];
}

/** A row beside the original: critical ones are, a stage's may be beside its parent. */
function rowBesideOriginal(
  shipped: Shipped,
  rows: readonly StageDecision[],
  benchmark: string,
  domain: string | null,
): StageDecision | undefined {
  const judged = rows.filter(({ score }) => score !== null);
  const critical = judged.find((row) => row.about === "critical" && row.subject === benchmark);
  if (critical !== undefined || shipped.plan.against === "parent") return critical;
  return domain === null
    ? judged.find((row) => row.about === "core" && row.subject === benchmark)
    : judged.find((row) => row.about === "expert" && row.subject === `${domain}/${benchmark}`);
}

/**
 * What is left of a benchmark: as the ledger judged it beside the original, else the accuracies that
 * were measured, without a retention where guessing or the gate tells none. The original keeps all.
 */
export function keptOf(shipped: Shipped, benchmark: string, domain: string | null = null): Kept {
  const measured = measuredOf(shipped, benchmark);
  if (isOriginal(shipped)) {
    const told = rowBesideOriginal(shipped, shipped.ledger.toReversed(), benchmark, domain);
    const score = measured?.[0] ?? told?.reference ?? null;
    return { baseline: score, final: score, retention: score === null ? null : 1, interval: null };
  }
  const row = rowBesideOriginal(shipped, ownRows(shipped), benchmark, domain);
  return {
    baseline: row?.reference ?? measured?.[0] ?? null,
    final: row?.score ?? measured?.[1] ?? null,
    retention: row?.value ?? null,
    interval: row?.interval ?? null,
  };
}

/** Accuracy in the band of the edge of chaos and what was decided of it; null: the plan has none. */
export function chaosOf(shipped: Shipped): { accuracy: number | null; status: string } | null {
  if (shipped.plan.edge_of_chaos === null) return null;
  const about = (rows: readonly StageDecision[]) =>
    rows.filter((row) => row.about === "edge_of_chaos");
  if (isOriginal(shipped)) {
    const [before] = about(shipped.ledger).filter(({ reference }) => reference !== null)
      .toSorted((one, other) => (other.samples ?? 0) - (one.samples ?? 0));
    return { accuracy: before?.reference ?? null, status: "original" };
  }
  const own = about(ownRows(shipped));
  const row = own.find(({ decision }) => decision === "failed") ?? own[0];
  return { accuracy: row?.score ?? row?.value ?? null, status: row?.decision ?? "not_measured" };
}

/** The score of each rule of ethics; null: it was not measured. */
export function ethicsOf(shipped: Shipped): Record<string, number | null> {
  const rules = Object.entries(shipped.plan.ethics?.rules ?? {});
  const rows = ownRows(shipped).filter(({ about }) => about === "ethics");
  return Object.fromEntries(rules.map(([rule, benchmark]) => {
    const row = rows.find(({ subject }) => subject === rule);
    return [rule, row?.value ?? measuredOf(shipped, benchmark)?.[1] ?? null];
  }));
}
