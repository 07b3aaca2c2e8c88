import { unknownName, UsageError } from "../errors.ts";
import { DISTANCES, metricOf } from "../metrics/metric_table.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Spec } from "../schemas/spec.ts";
import type { GateDecision } from "../schemas/trial.ts";
import { onRung } from "../schemas/rungs.ts";
import { qualityRow } from "../evidence/quality.ts";
import { distanceInterval } from "./distance_interval.ts";

/** A gate that a user sets: a trial whose figure is surely above it goes no further. */
export type DistanceGate = NonNullable<Spec["gates"]>[number];

/** The gates of a request, by the names of the table of metrics. */
function askedGates(given: Readonly<Record<string, number>> | undefined): DistanceGate[] {
  return Object.entries(given ?? {}).map(([name, most]) => {
    const metric = DISTANCES.find((one) => one.name === name);
    if (metric === undefined) {
      throw new UsageError(unknownName("gate", name, DISTANCES.map((one) => one.name)));
    }
    if (metric.unit === "1" && most > 1) {
      throw new UsageError(`Cannot gate ${name} at ${most} as it is a share, from 0 to 1`);
    }
    return { metric: name, most };
  });
}

/**
 * Where the rung of text has no gate of its own: above what is published for an 8B model at 2 bits
 * (0.445; deciding by less would need the family's own figures), a model whose text is another's.
 */
const TEXT_RUNG_GATE = 0.5;

/** The gates that a user sets, and that of the rung of text, which would else only cost time. */
export function gatesInForce(
  { gates, samples }: Pick<RunRequest, "gates" | "samples">,
): DistanceGate[] {
  const asked = askedGates(gates);
  const without = samples.kl === undefined || asked.some(({ metric }) => metric === "kl");
  return without ? asked : [...asked, { metric: "kl", most: TEXT_RUNG_GATE }];
}

/**
 * What the gates say of a rung's figures over all tasks: a trial ends where the whole 95 % interval
 * lies above the gate, as an interval that spans it decides nothing. A figure without an interval is
 * judged by its value. A gate whose figure the rung does not measure says nothing.
 */
export function distanceGates(
  gates: readonly DistanceGate[],
  measurements: readonly Measurement[],
  fidelity: string,
): GateDecision[] {
  return gates.flatMap(({ metric, most }) => {
    const row = qualityRow(measurements, metric, fidelity);
    if (row === undefined) return [];
    const interval = distanceInterval(row);
    const ended = (interval?.[0] ?? row.value) > most;
    const range = interval === null
      ? ""
      : ` (95 % interval ${interval[0].toPrecision(3)} to ${interval[1].toPrecision(3)})`;
    const where = ended ? "surely above" : row.value > most ? "not surely above" : "within";
    return [{
      gate: `${fidelity}_${metric}`,
      decision: ended ? "abort" as const : "pass" as const,
      reason: `${metricOf(metric)!.words} ${onRung(fidelity)}, n ${row.n}, is ` +
        `${row.value.toPrecision(3)}${range}, ${where} ${most}`,
      value: row.value,
      threshold: most,
    }];
  });
}
