/** Latencies of different minutes, against values worked out by hand. */
import assert from "node:assert/strict";
import {
  compareLatencies,
  ratioOf,
  seededRandom,
  t975,
  USUAL_SPREAD,
  Z95,
} from "../../core/mod.ts";
import { figure } from "./study_world.ts";
import { DEMO, near, runtime, timed } from "./timed_trials.ts";

Deno.test("compareLatencies() pools equal forms, so that noise tells no two of them apart", () => {
  const found = compareLatencies(DEMO, runtime);
  const [two, three] = [found.get("t2")!, found.get("t3")!];
  // No error within a session: both sessions count alike, √(0.5519 · 0.4010) = 0.4705.
  near(two.ratio, Math.sqrt(8.61 / 15.6 * (7.66 / 19.1)));
  near(two.ms, two.ratio! * 15.6);
  assert.deepEqual(two, three);
  assert.equal(two.sessions, 2);
});

Deno.test("compareLatencies() puts what sessions differ by into the interval", () => {
  const found = compareLatencies(DEMO, runtime);
  // By hand: the form's two sessions, one degree of freedom beside those of what is usual.
  const logs = [8.61 / 15.6, 7.66 / 19.1].map(Math.log);
  const squares = (logs[0]! - logs[1]!) ** 2 / 2;
  const { deviation, freedom } = USUAL_SPREAD;
  const spread = Math.sqrt((freedom * deviation ** 2 + squares) / (freedom + 1));
  const error = t975(freedom + 1) / Z95 * spread;
  near(found.get("t1")!.log_error, error);
  near(found.get("t2")!.log_error, error / Math.SQRT2);
  const { ratio, interval } = found.get("t1")!;
  near(interval![1], 12 / 19.2 * Math.exp(Z95 * error));
  assert.ok(interval![0] < ratio! && ratio! < interval![1]);
  // A machine that shows no spread is still not trusted to a hair.
  const quiet = [timed(0, { own: 10 }), timed(1, { own: 5, base: 10 })];
  const usual = t975(freedom) * deviation;
  near(Z95 * compareLatencies(quiet, runtime).get("t1")!.log_error!, usual);
});

Deno.test("the interval of a form that was timed once holds its ratio, where sessions differ as is usual", () => {
  const random = seededRandom(20261126);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  /** Share of intervals that hold the ratio; `again`: forms that were timed twice. */
  const coverage = (spread: number, again: number) => {
    let held = 0;
    const studies = 400;
    for (let study = 0; study < studies; study++) {
      const trials = [timed(0, { own: 20 })];
      const session = (form: number) => {
        const own = 10 * Math.exp(spread * normal());
        trials.push(timed(trials.length, { own, base: 20, form: `${form}` }));
      };
      for (let form = 0; form < 5; form++) {
        session(form);
        if (form < again) session(form);
      }
      const [low, high] = compareLatencies(trials, runtime).get(trials.at(-1)!.trial_id)!.interval!;
      held += low <= 0.5 && 0.5 <= high ? 1 : 0;
    }
    return held / studies;
  };
  for (const again of [0, 1, 4]) {
    const found = [0.01, 0.02].map((spread) => coverage(spread, again));
    assert.ok(found.every((share) => share >= 0.93), `${again} timed twice: ${found.join(", ")}`);
  }
  const wild = [1, 4].map((again) => coverage(0.06, again));
  assert.ok(wild[1]! > wild[0]! && wild[1]! > 0.82, `what a study shows widens it: ${wild}`);
});

Deno.test("a baseline that was disturbed alone, or drifts, widens no interval of ratios", () => {
  const study = (first: number, drift: number) =>
    compareLatencies([
      timed(0, { own: first }),
      ...[0.5, 0.6, 0.7].map((ratio, i) => {
        const base = 20 * (1 + drift * i);
        return timed(i + 1, { own: ratio * base, base, form: `${i}` });
      }),
    ], runtime);
  const quiet = study(20, 0);
  for (const [first, drift] of [[22, 0], [60, 0], [200, 0], [20, 0.3]] as const) {
    const found = study(first, drift);
    for (const id of ["t1", "t2", "t3"]) {
      near(found.get(id)!.ratio, quiet.get(id)!.ratio!);
      near(found.get(id)!.log_error, quiet.get(id)!.log_error!);
    }
  }
  assert.ok(quiet.get("t1")!.interval![1] < quiet.get("t2")!.interval![0]);
});

Deno.test("compareLatencies() takes a form for equal by its hash, in old journals by bytes and numerics", () => {
  const pair = (a: Parameters<typeof timed>[1], b: Parameters<typeof timed>[1]) => {
    const found = compareLatencies([timed(0, { own: 10 }), timed(1, a), timed(2, b)], runtime);
    return found.get("t1")!.form === found.get("t2")!.form;
  };
  const [own, base] = [5, 10];
  assert.equal(pair({ own, base, form: "a", bytes: 1 }, { own, base, form: "a", bytes: 2 }), true);
  assert.equal(pair({ own, base, form: "a", bytes: 1 }, { own, base, form: "b", bytes: 1 }), false);
  assert.equal(pair({ own, base, bytes: 1 }, { own: 6, base, bytes: 1 }), true);
  assert.equal(pair({ own, base, bytes: 1 }, { own, base, bytes: 2 }), false);
});

Deno.test("ratioOf() reads the measured ratio, of old journals the quotient with both errors", () => {
  const rows = [
    figure("latency_ms", 8, runtime, 0.4),
    figure("baseline_latency_ms", 10, runtime, 1),
  ];
  const old = ratioOf(rows, "latency_ratio", runtime)!;
  near(old.value, 0.8);
  near(old.log_error, Math.hypot(0.05, 0.1));
  const paired = ratioOf(
    [...rows, figure("latency_ratio", 0.7, runtime, 0.014)],
    "latency_ratio",
    runtime,
  )!;
  near(paired.value, 0.7);
  near(paired.log_error, 0.02);
  // A journal without a baseline beside the trial: the one that was measured alone.
  const alone = ratioOf(rows.slice(0, 1), "latency_ratio", runtime, [
    figure("latency_ms", 16, runtime, 0.16),
  ])!;
  near(alone.value, 0.5);
  assert.equal(alone.beside, false);
  assert.equal(ratioOf(rows.slice(0, 1), "latency_ratio", runtime), null);
  const emulated = rows.map((row) => ({ ...row, provenance: "emulated" as const }));
  assert.equal(ratioOf(emulated, "latency_ratio", runtime), null);
});

Deno.test("a trial that was timed several times is as sure as its sessions agree, the quiet ones alone", () => {
  const rows = (ratios: readonly number[], busy_cores?: number) =>
    ratios.map((ratio) => ({
      ...figure("latency_ratio", ratio, runtime, 0.005 * ratio),
      ...(busy_cores === undefined ? {} : { busy_cores }),
      form: "a",
    }));
  const of = (more: ReturnType<typeof rows>) => {
    const one = timed(1, { own: 10, base: 20, form: "a" });
    const trial = { ...one, measurements: [...one.measurements, ...more] };
    return compareLatencies([timed(0, { own: 20 }), trial], runtime).get("t1")!;
  };
  const apart = of(rows([1.01, 1.28, 1.08]));
  assert.equal(apart.sessions, 3);
  assert.ok(apart.ratio! > 1.01 && apart.ratio! < 1.28, "not the newest alone");
  const agreeing = of(rows([1.09, 1.1, 1.11]));
  assert.ok(apart.log_error! > 2 * agreeing.log_error!);
  const quiet = of([...rows([1.6], 1.5), ...rows([1.1])]);
  assert.equal(quiet.sessions, 1);
  assert.ok(Math.abs(quiet.ratio! - 1.1) < 1e-12);
});
