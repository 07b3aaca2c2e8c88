/** Limits on single tasks: several claims, each by its own samples, all together at the level of one. */
import assert from "node:assert/strict";
import {
  checkConstraints,
  judgeTaken,
  judgeTasks,
  type SampleResult,
  type Spec,
  streamRandom,
  type TaskDrop,
  taskDrops,
  taskVerdicts,
  UsageError,
} from "../../../core/mod.ts";
import { inferSpec } from "../../../core/spec/infer_spec.ts";
import { rounds, WHOLE_CAMPAIGN } from "../../fixtures/campaign.ts";
import { plugins, request, smallFacts } from "../spec_fixtures.ts";
import { run, world } from "../study_world.ts";

const base = world().input().spec;
const LIMIT = 0.02;

/** A study of these tasks, endless where no size is given, each with the limit. */
function specOf(tasks: readonly string[], available_samples?: number): Spec {
  const existing = available_samples === undefined ? {} : { available_samples };
  return {
    ...base,
    tasks: tasks.map((task) => ({ task, task_version: "1", primary: true, ...existing })),
    constraints: {
      ...base.constraints,
      max_task_drops: Object.fromEntries(tasks.map((task) => [task, LIMIT])),
    },
  };
}

function results(task: string, scores: readonly number[], name = ""): SampleResult[] {
  return scores.map((score, i) => ({
    ...{ task, sample_id: String(i), sample_hash: `${name}${task} ${i}`, prompt_hash: "", score },
    ...{ answer: null, gold: null, log_likelihood: null },
  }));
}

/** What each task loses where of its n samples every `period`-th turns wrong; 0: none does. */
function drops(spec: Spec, lost: Readonly<Record<string, readonly [n: number, period: number]>>) {
  const of = (wrong: boolean) => ({
    samples: Object.entries(lost).flatMap(([task, [n, period]]) =>
      results(
        task,
        Array.from({ length: n }, (_, i) => wrong && period > 0 && i % period === 0 ? 0 : 1),
      )
    ),
  });
  return taskDrops(spec, of(false), of(true));
}

/** Every task that has a limit has samples. */
const judge = (all: readonly TaskDrop[]) => judgeTasks(all, all.length);

Deno.test("what one claim would decide several must show more of, by Holm over the tasks", () => {
  const spec = specOf(["a", "b", "c"]);
  // 175 samples without a change decide a single claim of at most 0.02, and not one of three.
  const alone = (n: number) => drops(specOf(["a"]), { a: [n, 0] });
  let n = 50;
  while (judge(alone(n))[0]!.verdict === "undecided") n += 50;
  const open = { b: [100, 4], c: [50, 0] } as const;
  const [together] = judge(drops(spec, { a: [n, 0], ...open }));
  assert.equal(judge(alone(n))[0]!.verdict, "met");
  assert.equal(together!.verdict, "undecided", `${n} samples`);
  const far = judge(drops(spec, { a: [4 * n, 0], ...open }));
  assert.equal(far[0]!.verdict, "met");
  assert.ok(far[0]!.n > n && far[0]!.n < 4 * n, "at the look that showed it");
});

Deno.test("the last open claim is asked for as little as a single one", () => {
  const spec = specOf(["a", "b"]);
  const sure = drops(specOf(["b"]), { b: [2000, 0] });
  assert.equal(judge(sure)[0]!.verdict, "met");
  let n = 50;
  while (judge(drops(specOf(["a"]), { a: [n, 0] }))[0]!.verdict === "undecided") n += 50;
  const both = judge(drops(spec, { a: [n, 0], b: [2000, 0] }));
  assert.deepEqual(both.map(({ verdict }) => verdict), ["met", "met"]);
});

Deno.test("at a drop that is the limit itself hardly a study says of any task that it is beyond or within", () => {
  const studies = rounds(150, 4000);
  const tasks = ["a", "b", "c", "d"];
  const spec = specOf(tasks);
  const random = streamRandom(20261123, "task limits");
  const wrong = { met: 0, violated: 0 };
  for (let study = 0; study < studies; study++) {
    const scores = tasks.map((task) => {
      // Of a hundred answers 6 turn wrong and 4 right.
      const turns = Array.from({ length: 400 }, () => random());
      const before = turns.map((turn) => turn >= 0.06 && turn < 0.1 ? 0 : 1);
      const after = turns.map((turn) => turn < 0.06 ? 0 : 1);
      return [results(task, before, `${study}`), results(task, after, `${study}`)] as const;
    });
    const found = taskDrops(spec, { samples: scores.flatMap(([before]) => before) }, {
      samples: scores.flatMap(([, after]) => after),
    });
    const judged = judge(found).map(({ verdict }) => verdict);
    for (const side of ["met", "violated"] as const) if (judged.includes(side)) wrong[side]++;
  }
  const most = 0.05 + (WHOLE_CAMPAIGN ? 0 : 0.05);
  assert.ok(wrong.met / studies <= most && wrong.violated / studies <= most, JSON.stringify(wrong));
});

Deno.test("a limit on a task that was not read yet counts among the claims", () => {
  let n = 50;
  while (judge(drops(specOf(["a"]), { a: [n, 0] }))[0]!.verdict === "undecided") n += 50;
  const verdictIn = (spec: Spec) => taskVerdicts(spec, drops(spec, { a: [n, 0] }))[0]!.verdict;
  assert.equal(verdictIn(specOf(["a"])), "met");
  assert.equal(verdictIn(specOf(["a", "b", "c"])), "undecided");
});

Deno.test("all samples that exist decide a task exactly, whatever is open elsewhere", () => {
  const spec = specOf(["a", "b"], 200);
  const found = drops(spec, { a: [200, 50], b: [60, 20] });
  const [a, b] = judge(found);
  assert.deepEqual([a!.verdict, a!.exact, b!.verdict], ["met", true, "undecided"]);
  const [over] = judge(drops(spec, { a: [200, 40] })); // 5 of 200: 0.025
  assert.deepEqual([over!.verdict, over!.exact], ["violated", true]);
});

Deno.test("each limit is a constraint of its own name, with an interval at the level that they share", () => {
  const spec = specOf(["a", "b"]);
  const found = drops(spec, { a: [1500, 5] });
  const [a, b] = taskVerdicts(spec, [...found, { ...found[0]!, task: "b" } as TaskDrop]);
  assert.equal(a!.constraint, "max_task_drop/a");
  assert.deepEqual([a!.verdict, b!.verdict], ["violated", "violated"]);
  assert.ok(Math.abs(a!.value! - 0.2) < 1e-9);
  const single = taskVerdicts(specOf(["a"]), found)[0]!;
  assert.ok(a!.interval![0] < single.interval![0] && a!.interval![1] > single.interval![1]);
  assert.equal(judgeTaken(found[0]!.sequence.drawn, LIMIT).n, single.evidence!.decided_at);
  const rows = checkConstraints(spec, smallFacts(), [], null, found);
  assert.deepEqual(rows.slice(1).map(({ constraint, verdict }) => [constraint, verdict]), [
    ["max_task_drop/a", "violated"],
    ["max_task_drop/b", "unmeasured"],
  ]);
});

Deno.test("a limit names a task of the study that is scored from 0 to 1", () => {
  const infer = (max_task_drops: Record<string, number>) =>
    inferSpec(request({ constraints: { max_task_drops } }), smallFacts(), plugins);
  assert.deepEqual(infer({ words: 0.01 }).constraints.max_task_drops, { words: 0.01 });
  assert.equal(infer({}).constraints.max_task_drops, undefined);
  assert.throws(
    () => infer({ word: 0.01 }),
    (error) =>
      error instanceof UsageError &&
      /Unknown task to limit.*Did you mean "words"/.test(error.message),
  );
  assert.throws(() => infer({ words_text: 0.01 }), /perplexity does not lie from 0 to 1/);
});

Deno.test("a look ends a trial that loses more on one task than that one's limit, the mean's being wide", async () => {
  const spec = (one: Spec): Spec => ({
    ...one,
    tasks: one.tasks.map((plan) => ({ ...plan, available_samples: 1600 })),
    constraints: { ...one.constraints, max_accuracy_drop: 0.9, max_task_drops: { words: 0.02 } },
  });
  const bits = (count: number) => ({
    actions: [{ agent: "shrinking", method: "tune", params: { bits: count } }],
  });
  const asked = { strategies: [bits(4), bits(8)], max_trials: 2, until_decided: true };
  const loss = (count: number, _: unknown, rung: string) =>
    count === 4 && rung === "full" ? 0.25 : 0;
  const w = world(asked, { loss, samples: { proxy: 100, half: 400, full: 1600 }, spec });
  const [, four, eight] = (await run(w)).trials;
  assert.equal(four!.state, "stopped");
  assert.match(
    four!.gates.at(-1)!.reason,
    /^drop of words on \d+ full .* above 0\.02: decided after \d+, \d+ of 1600 samples were not read$/,
  );
  const of = (trial: typeof four) =>
    trial!.constraints.find(({ constraint }) => constraint === "max_task_drop/words")!;
  assert.equal(of(four).verdict, "violated");
  assert.ok(four!.reward!.value < -1, "a sampler learns of it");
  assert.deepEqual([eight!.state, of(eight).verdict], ["completed", "met"]);
});
