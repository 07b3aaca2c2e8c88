import assert from "node:assert/strict";
import {
  type Backend,
  isFinished,
  kindOf,
  openByHand,
  type RunPorts,
  type runStudy,
  strategyKey,
  StudyRequest,
  UsageError,
} from "../../../core/mod.ts";
import { cellsOf } from "../../../core/runs/sweep/cells.ts";
import { SweepPlan } from "../../../core/runs/sweep/plan.ts";
import { plugins, smallFacts } from "../spec_fixtures.ts";
import { interleaved } from "../interleaved_world.ts";
import { historyOf, type World, world } from "../study_world.ts";
import { known } from "./sweep_world.ts";

const facts = smallFacts();
const plan = (given: object) => SweepPlan.parse(given);

Deno.test("a sweep's cells are weights by methods by budgets, and one of a method without a budget", () => {
  const rounding = [{ agent: "shrinking", method: "round", params: { bits: 8 } }];
  const cells = cellsOf(
    plan({ methods: ["choose", "whole"], budgets: [4, 3], weights: [[], rounding] }),
    known,
    facts,
  );
  const words = cells.map((cell) =>
    cell.map(({ method, params }) => `${method} ${params["bits"] ?? "-"}`).join(", ")
  );
  assert.deepEqual(words, [
    "choose 4",
    "choose 3",
    "whole -",
    "round 8, choose 4",
    "round 8, choose 3",
    "round 8, whole -",
  ]);
});

Deno.test("the whole cache among a sweep's methods is its baseline, and no cell", () => {
  const cells = (methods: string[]) => cellsOf(plan({ methods, budgets: [4] }), known, facts);
  assert.deepEqual(cells(["full", "choose"]), cells(["choose"]));
  const odd = SweepPlan.safeParse({ methods: ["choose"], budgets: [1.5] });
  assert.match(odd.error!.message, /a whole number of tokens, or below 1 the share of a prompt/);
});

Deno.test("what a sweep cannot run is refused before anything is begun, in a sentence", () => {
  const refused = (given: object, message: RegExp) =>
    assert.throws(
      () => cellsOf(plan({ methods: ["choose"], budgets: [4], ...given }), known, facts),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  refused({ methods: ["chose"] }, /^Unknown method of the cache "chose". Did you mean "choose"\?/);
  refused({ methods: ["shrinking/round"] }, /^Unknown method of the cache/);
  refused({ budgets: [0.5] }, /^Cannot sweep choose with a budget of 50 % as it keeps no share$/);
  refused({ methods: ["full"] }, /^Cannot sweep full alone: it is the baseline of every sweep/);
  refused({ set: { bitz: 3 } }, /^Unknown knob of these methods "bitz". Did you mean "bits"\?/);
});

Deno.test("a sweep measures the baseline and each cell on all samples, and times nothing", async () => {
  const strategies = { sweep: { methods: ["choose"], budgets: [8, 4, 3] } };
  const made = world(strategies as object, {
    methods: known,
    spec: (spec) => ({ ...spec, constraints: { ...spec.constraints, max_accuracy_drop: 0.5 } }),
  });
  const request = StudyRequest.parse({ model_name: "small", dataset: "words", ...strategies });
  assert.equal(request.kind, "sweep");
  const kind = kindOf(request);
  const spec = kind.spec(request, facts, { ...plugins, methods: known });
  assert.deepEqual(spec.objectives.map(({ metric }) => metric), ["accuracy", "context_kv_bytes"]);
  assert.equal(spec.evict_after, "context");
  const { accuracy, memory, ...others } = spec.reward_weights;
  assert.ok(accuracy > memory && Math.abs(accuracy + memory - 1) < 1e-9, "the cache is weighed");
  assert.deepEqual(others, { latency: 0, energy: 0 }, "and nothing that the front does not name");
  const weighed = spec.assumptions.filter(({ field }) =>
    /^(objectives|reward_weights)$/.test(field)
  );
  assert.match(weighed.map(({ value }) => value).join("; "), /context_kv_bytes; .*,memory=0\./);

  const input = { ...made.input({ methods: known, spec }), request };
  const result = await kind.drive(input, made.ports as RunPorts);
  assert.equal(result.stop, "end_of_plan");
  assert.equal(result.message, "All 3 cells of the sweep are run.");
  assert.deepEqual(result.trials.map(({ state }) => state), Array(4).fill("completed"));
  const calls = made.calls.map(({ call, recipe, fidelity }) =>
    `${call} ${/bits":(\d)/.exec(recipe)?.[1] ?? recipe} ${fidelity}`
  );
  assert.deepEqual(calls.filter((one) => !one.startsWith("apply")), [
    "evaluate base full",
    ...["8", "4", "3"].map((bits) => `evaluate ${bits} full`),
  ]);
  assert.ok(!calls.some((one) => one.startsWith("speed")));
});

Deno.test("a sweep of a policy that goes token by token is scored behind contexts, where caches are counted", () => {
  const spec = (methods: string[]) => {
    const named = { model_name: "small", dataset: "words", sweep: { methods, budgets: [4] } };
    const request = StudyRequest.parse(named);
    return kindOf(request).spec(request, facts, { ...plugins, methods: known });
  };
  const said = spec(["drop"]);
  assert.equal(said.evict_after, "context");
  assert.deepEqual(said.objectives, spec(["choose"]).objectives);
  assert.equal(said.assumptions.filter(({ field }) => field === "evict_after").length, 1);
});

/** A sweep on so many workers, its calls ended in a drawn order: what each reading of prompts answers. */
async function sweptBy(
  workers: number,
  seed: number,
  weights: readonly object[][],
  { stop_at = Infinity, first }: { stop_at?: number; first?: World } = {},
) {
  const strategies = { sweep: { methods: ["choose"], budgets: [8, 4, 3, 2], weights } };
  const made = world(strategies as object, { methods: known });
  const named = { model_name: "small", dataset: "words", workers };
  const request = StudyRequest.parse({ ...named, ...strategies });
  const kind = kindOf(request);
  const spec = kind.spec(request, facts, { ...plugins, methods: known });
  const readings: string[] = [];
  const asked = new Set<string>();
  const [now, twice] = [new Set<string>(), [] as string[]];
  const watching = (backend: Backend): Backend => ({
    ...backend,
    async evaluate(...given) {
      const [, artifact, , , , beside = []] = given;
      const own = artifact.artifact_id.replaceAll(/\{"bits":(\d).*?\}/g, " $1");
      const others = beside.map(({ params }) => own.replace(/\d$/, String(params["bits"])));
      const cells = [own, ...others].filter((one) => one.includes("choose"));
      const fresh = cells.filter((one) => !asked.has(one));
      if (fresh.length > 0) readings.push(fresh.join(", "));
      for (const one of cells) {
        if (now.has(one)) twice.push(one);
        asked.add(one);
        now.add(one);
      }
      const evaluated = await backend.evaluate(...given);
      cells.forEach((one) => now.delete(one));
      return evaluated;
    },
  });
  const history = first === undefined ? {} : { history: historyOf(first) };
  const own = { request, spec, methods: known, samplers: [], ...history };
  const stop = (step: number) => step === stop_at && made.abort.abort();
  const w: World = { ...made, input: (more = {}) => made.input({ ...own, ...more }) };
  const drive: typeof runStudy = (input, ports) =>
    kind.drive(input, { ...ports, backend: watching(ports.backend) } as RunPorts);
  const { result, watched } = await interleaved(w, seed, own, stop, drive);
  assert.deepEqual(twice, [], "what an evaluation under way asks is asked by no other");
  const finished = result.trials.filter(isFinished).map(({ actions }) => strategyKey(actions));
  return { readings: readings.sort(), finished: finished.sort(), watched, made, result };
}

Deno.test("a sweep on two workers runs the cells of one, and reads prompts once for each weights", async () => {
  const rounding = [{ agent: "shrinking", method: "round", params: { bits: 8 } }];
  const alone = await sweptBy(1, 0, [[], rounding]);
  const every = (start: string, bits: number[]) =>
    bits.map((b) => `${start}choose ${b}`).join(", ");
  for (const seed of [1, 2]) {
    const two = await sweptBy(2, seed, [[], rounding]);
    assert.deepEqual(two.finished, alone.finished);
    assert.equal(two.watched.most, 2);
    assert.deepEqual(two.readings, [every("", [8, 4, 3, 2]), every("round 8+", [8, 4, 3, 2])]);
    const three = await sweptBy(3, seed, [[], rounding]);
    assert.deepEqual([three.readings, three.finished], [two.readings, two.finished]);
  }
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    // Where there are more workers than weights, the cells of one are dealt.
    const dealt = await sweptBy(2, seed, [[]]);
    const cells = dealt.readings.map((one) => one.split(", "));
    assert.ok(cells.every(({ length }) => length <= 2), dealt.readings.join("; "));
    assert.deepEqual(cells.flat().sort(), [2, 3, 4, 8].map((bits) => `choose ${bits}`));
    assert.equal(dealt.result.message, "All 4 cells of the sweep are run.");
  }
});

Deno.test("a sweep on two workers that was stopped goes on with the cells that are left", async () => {
  const whole = (await sweptBy(1, 0, [[]])).finished;
  for (const stop_at of [3, 5, 7]) {
    const first = await sweptBy(2, 1, [[]], { stop_at });
    assert.equal(first.result.stop, "cancelled");
    assert.ok(first.finished.length < whole.length);
    const second = await sweptBy(2, 2, [[]], { first: first.made });
    assert.deepEqual(second.finished, whole, "each is run, and none that is finished again");
  }
});

Deno.test("a sweep that is killed after any record goes on: each cell once, with the same figures", async () => {
  const strategies = { sweep: { methods: ["choose"], budgets: [8, 4, 3] } };
  const request = StudyRequest.parse({ model_name: "small", dataset: "words", ...strategies });
  const spec = kindOf(request).spec(request, facts, { ...plugins, methods: known });
  const opened = () => world(strategies as object, { methods: known });
  const drive = (made: ReturnType<typeof world>, more: object = {}) => {
    const input = { ...made.input({ methods: known, spec, ...more }), request };
    return kindOf(request).drive(input, made.ports as RunPorts);
  };
  const figures = ({ trials }: Awaited<ReturnType<typeof drive>>) =>
    trials.filter(({ state }) => state === "completed").map(({ actions, measurements }) => [
      actions.map(({ params }) => params["bits"]),
      measurements.filter(({ metric }) => metric === "accuracy").map(({ value }) => value),
    ]);
  const first = opened();
  const whole = await drive(first);
  assert.equal(figures(whole).length, 4);
  const begun = first.records.findIndex(({ type }) => type === "study_opened");
  for (let count = begun + 1; count <= first.records.length; count += 1) {
    const later = opened();
    const result = await drive(later, { history: historyOf(first, count) });
    assert.deepEqual(figures(result), figures(whole), `killed after record ${count}`);
  }
});

Deno.test("a sweep by hand proposes its cells, and learns from one that nobody timed", async () => {
  const strategies = { sweep: { methods: ["choose"], budgets: [8, 4] } };
  const made = world(strategies as object, { methods: known });
  const request = StudyRequest.parse({ model_name: "small", dataset: "words", ...strategies });
  const spec = kindOf(request).spec(request, facts, { ...plugins, methods: known });
  const input = { ...made.input({ methods: known, spec }), request };
  const hand = await openByHand(input, made.ports);
  await hand.baseline();
  const proposal = await hand.propose();
  assert.equal(proposal?.resolved[0]?.params["bits"], 8);
  const one = await hand.begin(proposal!);
  await one.apply();
  await one.evaluate();
  assert.equal((await one.learn()).state, "completed");
  assert.equal((await hand.episode())?.actions[0]?.params["bits"], 4);
  assert.equal(await hand.episode(), null);
  await hand.close();
});
