import assert from "node:assert/strict";
import {
  type Method,
  type ResolvedAction,
  runStudy,
  type StudyRequestInput,
} from "../../core/mod.ts";
import { methods, smallFacts } from "./spec_fixtures.ts";
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

Deno.test("of trials side by side one alone asks what waits for the same prompts", async () => {
  const known = [...methods, choose];
  const strategies = [4, 3, 8].map((bits) => ({ actions: [keeping(bits)] }));
  const made = world({ max_trials: 3, workers: 2, strategies }, { methods: known });
  const asked: [string, unknown[]][] = [];
  const second = Promise.withResolvers<void>();
  const backend = {
    ...made.backend,
    async evaluate(...given: Parameters<typeof made.backend.evaluate>) {
      const [, artifact, , , , beside = []] = given;
      const bits = /bits":(\d)/.exec(artifact.artifact_id)?.[1] ?? "–";
      asked.push([bits, beside.map(({ params }) => params["bits"])]);
      if (bits === "3") second.resolve();
      if (bits === "4") await second.promise; // the first goes on until the second has begun
      return await made.backend.evaluate(...given);
    },
  };
  await runStudy(made.input({ methods: known }), { ...made.ports, backend });
  const first = asked.filter(([bits]) => bits !== "–").slice(0, 2);
  assert.deepEqual(first, [["4", [8]], ["3", []]]);
});
