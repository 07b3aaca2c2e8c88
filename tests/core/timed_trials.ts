/** Trials that were timed beside their baseline, for tests of what is said of their latency. */
import assert from "node:assert/strict";
import { type Measurement, type Trial } from "../../core/mod.ts";
import { figure, named, run, world } from "./study_world.ts";

const w = world();
export const { spec, facts } = w.input();
export const { trials } = await run(w);
export const eight = named(trials, "round-8bit-g64");

export const near = (found: number | null | undefined, wanted: number, within = 1e-12) =>
  assert.ok(Math.abs(found! - wanted) <= within, `${found} against ${wanted}`);

export const runtime = spec.runtime;

/** A full trial that was timed beside its baseline; number 0: the baseline itself, alone. */
export function timed(
  number: number,
  { own, base, form, bytes = 1000 * number, accuracy = 0.6 }: {
    own: number;
    base?: number;
    form?: string;
    bytes?: number;
    accuracy?: number;
  },
): Trial {
  const rows: Measurement[] = [
    { ...figure("accuracy", accuracy, null, 0.01), direction: "maximize", n: 400 },
    { ...figure("size_bytes", bytes, null, 0) },
    { ...figure("latency_ms", own, runtime, 0), ...(form === undefined ? {} : { form }) },
    ...(base === undefined ? [] : [figure("baseline_latency_ms", base, runtime, 0)]),
  ];
  const kept = number === 0 ? trials[0]! : eight;
  return {
    ...kept,
    trial_id: `t${number}`,
    number,
    strategy: number === 0 ? null : kept.strategy,
    measurements: rows,
    constraints: [],
  };
}

/** A reward that rests on accuracy alone. */
export function rewarded(value: number) {
  const shared = { weight: 1, normalised: value, contribution: value, note: null };
  return { value, terms: [{ term: "accuracy" as const, ...shared }] };
}

/** The demo's sessions: the baseline took 15.5, 19.2, 15.6, 19.1 and 15.6 ms. */
export const DEMO = [
  timed(0, { own: 15.5, bytes: 9000 }),
  timed(1, { own: 12, base: 19.2 }),
  timed(2, { own: 8.61, base: 15.6, bytes: 86, form: "4-bit" }),
  timed(3, { own: 7.66, base: 19.1, bytes: 86, form: "4-bit" }),
  timed(4, { own: 9, base: 15.6 }),
];
