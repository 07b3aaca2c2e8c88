import assert from "node:assert/strict";
import {
  type Method,
  type ResolvedAction,
  runStudy,
  type StudyRequestInput,
} from "../../core/mod.ts";
import { methods, smallFacts } from "./spec_fixtures.ts";
import { interleaved } from "./interleaved_world.ts";
import { world } from "./study_world.ts";

const round = methods.find(({ method }) => method.name === "round")!;

/** A setting that chooses by what was read; it may follow what changes weights. */
const choose = {
  agent: "shrinking",
  method: {
    ...round.method,
    name: "choose",
    order: { ...round.method.order, effect: "caches" },
    leaves: (_params: unknown, { model }: ReturnType<typeof smallFacts>) => ({
      changes: [{ part: "cache", effect: "caches", form: null, least_cosine: null }],
      model: { ...model, cache: { kept_tokens: { mean: 64, most: 64 }, evict_after: "context" } },
    }),
  } as unknown as Method,
};

const keeping = (bits: number) => ({ agent: "shrinking", method: "choose", params: { bits } });
const rounding = { agent: "shrinking", method: "round", params: { bits: 8 } };

/** What was to be asked beside each trial: the bits of every setting, by trial. */
async function askedBeside(strategies: NonNullable<StudyRequestInput["strategies"]>) {
  const known = [...methods, choose];
  const made = world({ max_trials: 6, strategies }, { methods: known });
  const found = new Map<string, (readonly ResolvedAction[] | undefined)[]>();
  const backend = {
    ...made.backend,
    evaluate(...asked: Parameters<typeof made.backend.evaluate>) {
      const [trial_id, , , , , beside] = asked;
      found.set(trial_id, [...found.get(trial_id) ?? [], beside]);
      return made.backend.evaluate(...asked);
    },
  };
  const { trials } = await runStudy(made.input({ methods: known }), {
    ...made.ports,
    backend,
  });
  return trials.map(({ trial_id, strategy }) => ({
    recipe: strategy?.actions.map(({ method, params }) => `${method} ${params["bits"]}`).join(", "),
    beside: found.get(trial_id)?.[0]?.map(({ params }) => params["bits"]),
  }));
}

Deno.test("settings of the same weights that wait in the queue are asked beside a trial", async () => {
  const found = await askedBeside([
    { actions: [keeping(4)] },
    { actions: [keeping(3)] },
    { actions: [rounding, keeping(4)] },
    { actions: [rounding] },
    { actions: [keeping(8)] },
    { actions: [rounding, keeping(3)] },
    { actions: [keeping(3)] },
  ]);
  assert.deepEqual(found, [
    { recipe: undefined, beside: [] },
    { recipe: "choose 4", beside: [3, 8] },
    { recipe: "choose 3", beside: [8] },
    { recipe: "round 8, choose 4", beside: [3] },
    { recipe: "round 8", beside: [] },
    { recipe: "choose 8", beside: [] },
    { recipe: "round 8, choose 3", beside: [] },
  ]);
});

/** What trials side by side asked, each beside its own: bits of one setting, the calls in a drawn order. */
async function askedByWorkers(workers: number, seed: number, kept: readonly number[]) {
  const known = [...methods, choose];
  const strategies = kept.map((bits) => ({ actions: [keeping(bits)] }));
  const more = { max_trials: kept.length, max_full_evaluations: kept.length };
  const made = world({ ...more, workers, strategies }, { methods: known });
  const asked: number[][] = [];
  const { evaluate } = made.backend;
  const backend = {
    ...made.backend,
    evaluate(...given: Parameters<typeof evaluate>) {
      const [, artifact, fidelity, , , beside = []] = given;
      const own = /^choose.*bits":(\d)/.exec(artifact.artifact_id)?.[1];
      if (own !== undefined && fidelity === "proxy") {
        asked.push([own, ...beside.map(({ params }) => params["bits"])].map(Number));
      }
      return evaluate(...given);
    },
  };
  const w = { ...made, backend };
  const samplers: [] = [];
  const { result } = await interleaved(w, seed, { methods: known, samplers });
  return { asked, result };
}

Deno.test("of settings side by side none is asked twice at once, and other work goes first", async () => {
  for (const seed of [0, 1, 2]) {
    const { asked, result } = await askedByWorkers(2, seed, [4, 3, 8]);
    assert.deepEqual(asked[0], [4, 3, 8], "one reads for all, as there are seeds to run beside it");
    const second = result.trials[2]?.strategy?.actions.at(-1)?.method;
    assert.notEqual(second, "choose", "the second worker takes a seed");
  }
});
