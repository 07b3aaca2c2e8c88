/** The usual sampler: moves while little is measured, then models, and how those take a study's recipes. */
import assert from "node:assert/strict";
import {
  type Answer,
  checkStrategy,
  type Measurement,
  type ResolvedAction,
  type Sampler,
  type SearchContext,
  seededRandom,
  strategyKey,
  type Trial,
} from "../../core/mod.ts";
import auto from "../../plugins/search/auto.ts";
import surrogate from "../../plugins/search/surrogate.ts";
import tpe from "../../plugins/search/tpe.ts";
import { studySamplers } from "../../tracker/lab/search/study_samplers.ts";
import { methods, request } from "../core/spec_fixtures.ts";
import { context, facts, proposed, trial } from "./search_fixtures.ts";

const base = context();
const spec = {
  ...base.spec,
  objectives: [
    { metric: "accuracy", direction: "maximize" as const, unit: "share" },
    { metric: "size_bytes", direction: "minimize" as const, unit: "bytes" },
  ],
};

function row(metric: string, value: number, standard_error: number): Measurement {
  const direction = metric === "size_bytes" ? "minimize" : "maximize";
  return {
    ...{ metric, value, unit: "1", direction, n: 100, standard_error, fidelity: "full" },
    ...{ provenance: "measured", task: null, task_version: null, slice: null, runtime: null },
    ...{ numerics: null, device: null, method: "" },
  };
}

/** As a recipe might do: fewer bits cost more, solving less than rounding. */
function measured(actions: readonly ResolvedAction[]): Measurement[] {
  const lost = actions.reduce((sum, { method, params }) => {
    const bits = Number(params["bits"] ?? 8);
    return sum + 2 ** -bits * (method === "round" ? 2 : 1);
  }, 0);
  const bits = Math.min(16, ...actions.map(({ params }) => Number(params["bits"] ?? 8)));
  return [row("accuracy", 0.7 - lost, 0.01), row("size_bytes", bits * 1e8, 0)];
}

/** A study of `count` recipes that this sampler proposed, each measured unless `become` says otherwise. */
function study(
  sampler: Sampler,
  count: number,
  become: (number: number) => Partial<Trial> = () => ({}),
  more: Partial<SearchContext> = {},
): { trials: Trial[]; answers: Answer[] } {
  const trials: Trial[] = [];
  const answers: Answer[] = [];
  while (trials.length < count) {
    const front = trials.filter(({ state }) => state === "completed").map((one) => one.trial_id);
    const random = seededRandom(trials.length);
    const answer = proposed(sampler, { ...base, spec, trials, front, random, ...more });
    if (answer === null) break;
    answers.push(answer);
    const own = trial(trials.length + 1, answer.actions);
    trials.push({ ...own, measurements: measured(own.actions), ...become(trials.length + 1) });
  }
  return { trials, answers };
}

for (const sampler of [auto, surrogate, tpe]) {
  Deno.test(`${sampler.name} searches measured recipes: all can run, none twice, the same again`, () => {
    const { trials } = study(sampler, 20);
    assert.equal(trials.length, 20);
    for (const { actions } of trials) {
      assert.deepEqual(checkStrategy(actions, methods, facts), { ok: true });
    }
    assert.equal(new Set(trials.map(({ actions }) => strategyKey(actions))).size, 20);
    // Nothing is kept between two askings: one asked with the trials alone says the same.
    const [before, last] = [trials.slice(0, -1), trials.at(-1)!];
    const front = before.map((one) => one.trial_id);
    const again = proposed(sampler, {
      ...base,
      spec,
      trials: before,
      front,
      random: seededRandom(19),
    });
    assert.deepEqual(again!.actions, last.strategy!.actions);
  });

  Deno.test(`${sampler.name} goes on beside trials that fail, are stopped, or never end`, () => {
    const failure = { kind: "crash" as const, message: "", hint: null, phase: null };
    const { trials } = study(sampler, 18, (number) => {
      if (number % 5 === 0) return { state: "failed", failure, measurements: [] };
      if (number % 7 === 0) return { state: "stopped", fidelity: null, measurements: [] };
      return number % 4 === 0 ? { measurements: [] } : {};
    }, {
      under_way: [{ trial_id: "t99", actions: [], fidelity: null, waits_for: null }],
    });
    assert.equal(trials.length, 18);
  });
}

Deno.test("what auto proposes is the core's auto, the one that is measured", () => {
  const { answers } = study(auto, 16);
  const reasons = answers.map(({ origin }) => origin.reason);
  assert.ok(reasons.slice(0, 8).every((one) => one.startsWith("few measured: ")), reasons[7]);
  assert.ok(reasons.slice(8).every((one) => one.startsWith("a model of all that is measured: ")));
});

Deno.test("auto's first draws leave no part more than one width below what has held", () => {
  for (let seed = 0; seed < 20; seed++) {
    const answer = proposed(auto, {
      ...base,
      spec,
      trials: [],
      front: [],
      random: seededRandom(seed),
    });
    const bits = answer!.actions.map(({ params }) => Number(params["bits"] ?? 8));
    assert.ok(bits.every((one) => one >= 8), `${bits}`);
  }
});

Deno.test("a cancelled trial takes no turn: the same seed proposes the same after it", () => {
  const { trials } = study(auto, 9);
  const front = trials.map((one) => one.trial_id);
  const ask = (more: Trial[]) =>
    proposed(auto, { ...base, spec, trials: [...trials, ...more], front, random: seededRandom(9) });
  const alone = ask([])!;
  const cut = trial(10, alone.actions);
  const failure = { kind: "cancelled" as const, message: "", hint: null, phase: null };
  const after = ask([{ ...cut, state: "cancelled", failure, measurements: [] }])!;
  assert.deepEqual(after.actions, alone.actions);
});

Deno.test("auto is who proposes where a request names nobody", () => {
  const asked: string[] = [];
  const registry = { sampler: (name: string) => (asked.push(name), auto) };
  studySamplers(request(), registry as never);
  assert.deepEqual(asked, ["auto"]);
});
