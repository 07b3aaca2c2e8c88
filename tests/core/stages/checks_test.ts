/** The checks by themselves: just below and just above every threshold, and what is not judged. */
import assert from "node:assert/strict";
import { StagePlan, StagesPlan } from "../../../core/runs/stages/plan.ts";
import { pairedRetention, widening } from "../../../core/runs/stages/checks/retention_interval.ts";
import { qualityChecks, verdictOf } from "../../../core/runs/stages/checks/judge.ts";
import { adjusted, adjustmentsFor } from "../../../core/runs/stages/adjust.ts";
import { methods } from "../spec_fixtures.ts";
import { evaluationOf, HALF, N, scoredSpec } from "./scored_evaluation.ts";

type PlanInput = (typeof StagesPlan)["_zod"]["input"];

/** The checks beside an original of 0.75 everywhere, on the last samples that there are. */
function checks(
  own: Partial<typeof HALF>,
  asked: Partial<PlanInput> = {},
  stage: Record<string, unknown> = {},
  { last = true, n = N, before = HALF, most }: {
    last?: boolean;
    n?: number;
    before?: typeof HALF;
    /** The original's samples on the highest rung, right alike; absent: not known. */
    most?: number;
  } = {},
) {
  const action = { agent: "shrinking", method: "round" };
  const plan = StagesPlan.parse({
    stages: [{ name: "one", actions: [action] }],
    core: ["general", "sums"],
    ...asked,
  });
  const scaled = (of: Partial<typeof HALF>) =>
    Object.fromEntries(
      Object.entries(of).map(([task, right]) => [task, Math.round(right * n / N)]),
    );
  return qualityChecks({
    plan,
    stage: StagePlan.parse({ name: "one", actions: [action], ...stage }),
    baseline: {
      spec: scoredSpec,
      reference: evaluationOf(n, scaled(before)),
      own: evaluationOf(n, scaled({ ...HALF, ...own })),
      ...(most === undefined ? {} : {
        most: evaluationOf(
          most,
          Object.fromEntries(
            Object.entries(before).map(([task, right]) => [task, Math.round(right * most / N)]),
          ),
        ),
      }),
      looks: 1,
    },
    parent: null,
    last,
  });
}

Deno.test("a benchmark that more samples of the original will tell of is waited for", () => {
  // 0.375 beside chance 0.25: of 16 samples not surely above it, of 400 surely.
  const before = { ...HALF, sums: 150 };
  const judge = (more: { last?: boolean; most?: number }) =>
    checks({ sums: 150 }, {}, {}, { n: 16, before, ...more })
      .find(({ about, subject }) => about === "core" && subject === "sums")!;
  assert.equal(judge({ last: false, most: N }).decision, "undecided");
  assert.match(judge({ last: false, most: N }).reason, /not judged yet: .*surely above guessing/);
  assert.equal(judge({ last: false, most: 16 }).decision, "not_applicable", "no more will tell");
  assert.equal(judge({ last: true, most: N }).decision, "not_applicable", "there are no more");
  const all = checks({}, {}, {}, {
    n: 16,
    before: { ...HALF, general: 150, sums: 150 },
    last: false,
    most: N,
  });
  assert.equal(verdictOf(all), "undecided");
});

/** Right answers of 400 that keep a share of what lies above chance. */
const keeping = (share: number) => Math.round(100 + 200 * share);

Deno.test("a benchmark of its own threshold is held to that one, in the core and in a domain", () => {
  const at = (share: number, asked: Partial<PlanInput> = {}) =>
    checks({ sums: keeping(share) }, { experts: { code: ["sums"] }, ...asked }, {
      core: 0.95,
      expert: 0.93,
      benchmarks: { sums: 0.9 },
    }).filter(({ about, subject }) =>
      ["core", "expert"].includes(about) && subject?.endsWith("sums") === true
    ).map(({ threshold, decision }) => ({ threshold, decision }));
  const both = (decision: string) => [0, 1].map(() => ({ threshold: 0.9, decision }));
  assert.deepEqual(at(0.91), both("passed"));
  assert.deepEqual(at(0.89), both("failed"));
  assert.deepEqual(at(0.89, { retention_of: "mean" }), both("failed"), "beside the mean");
});

Deno.test("a threshold of a benchmark that is not the document's is refused with the nearest name", () => {
  const one = { name: "one", actions: [{ agent: "shrinking", method: "round" }] };
  const plan = { core: ["general"], experts: { code: ["sums"] } };
  const read = (benchmarks: Record<string, number>) =>
    StagesPlan.safeParse({ ...plan, stages: [{ ...one, benchmarks }] });
  assert.equal(read({ general: 0.9, sums: 0.8 }).success, true);
  const { error } = read({ sum: 0.9 });
  assert.match(String(error?.issues[0]?.message), /Unknown benchmark.* "sum".*Did you mean "sums"/);
});

Deno.test("retention is of what lies above chance: 0.70 of 0.75 keeps 0.9, not 0.93", () => {
  const [core] = checks({ general: 280 });
  assert.deepEqual([core!.value?.toFixed(6), core!.decision], ["0.900000", "failed"]);
  assert.deepEqual([core!.reference, core!.score, core!.chance], [0.75, 0.7, 0.25]);
});

Deno.test("one answer below every threshold fails by the estimate, one at it passes", () => {
  const cases: [string, Partial<typeof HALF>, Partial<typeof HALF>, Partial<PlanInput>, object][] =
    [
      ["core", { general: keeping(0.98) }, { general: keeping(0.98) - 1 }, {}, { core: 0.98 }],
      [
        "expert",
        { code: keeping(0.93) },
        { code: keeping(0.93) - 1 },
        { experts: { code: ["code"] } },
        { expert: 0.93 },
      ],
      [
        "cumulative",
        { general: keeping(0.68) },
        { general: keeping(0.68) - 1 },
        { critical: { core: 0.5 } },
        { core: 0 },
      ],
      ["critical", { general: keeping(0.8) }, { general: keeping(0.8) - 1 }, {}, { core: 0.5 }],
      [
        "critical",
        { code: keeping(0.75) },
        { code: keeping(0.75) - 1 },
        { experts: { code: ["code"] } },
        { expert: 0.5 },
      ],
      [
        "critical",
        { general: keeping(0.8), sums: keeping(0.8) },
        { general: keeping(0.8), sums: keeping(0.8) - 1 },
        { critical: { core: 0.5, joint: { benchmarks: ["general", "sums"], drop: 0.2 } } },
        { core: 0.5, cumulative: 0.5 },
      ],
      ["ethics", { kind: 260 }, { kind: 259 }, { ethics: { rules: { harm: "kind" } } }, {}],
      [
        "critical",
        { kind: 200 },
        { kind: 199 },
        { ethics: { rules: { harm: "kind" } } },
        { ethics: 0.1 },
      ],
      [
        "edge_of_chaos",
        { kind: 260 },
        { kind: 259 },
        { edge_of_chaos: { benchmarks: ["kind"] } },
        {},
      ],
      [
        "edge_of_chaos",
        { kind: 340 },
        { kind: 341 },
        { edge_of_chaos: { benchmarks: ["kind"] } },
        {},
      ],
    ];
  for (const [about, at, below, asked, stage] of cases) {
    const good = checks(at, asked, stage as Record<string, unknown>);
    assert.equal(verdictOf(good), "passed", `${about} at its threshold: ${told(good)}`);
    const bad = checks(below, asked, stage as Record<string, unknown>);
    const failed = bad.filter(({ decision }) => decision === "failed");
    assert.deepEqual(failed.map((one) => [one.about, one.by_estimate]), [[about, true]], told(bad));
    const open = checks(below, asked, stage as Record<string, unknown>, { last: false });
    assert.equal(verdictOf(open), "undecided", "more samples may decide it");
  }
});

function told(all: ReturnType<typeof checks>): string {
  return all.filter(({ decision }) => decision !== "passed").map(({ reason }) => reason).join("; ");
}

Deno.test("what is plain needs no more samples", () => {
  assert.equal(verdictOf(checks({}, {}, {}, { last: false })), "passed");
  assert.equal(verdictOf(checks({ general: keeping(0.87) }, {}, {}, { last: false })), "failed");
  assert.equal(verdictOf(checks({ general: keeping(0.5) }, {}, {}, { last: false })), "critical");
});

Deno.test("what cannot be judged is named with its reason, and lets nothing pass by itself", () => {
  const lacking = checks({}, { experts: { execution: ["shop"] } });
  const shop = lacking.find(({ subject }) => subject === "execution/shop")!;
  assert.equal(shop.decision, "not_applicable");
  assert.match(shop.reason, /shop is not judged: it needs a simulated shop/);
  const guessing = { ...HALF, general: 100, sums: 100 };
  const none = checks(guessing, {}, {}, { before: guessing });
  assert.equal(verdictOf(none), "unjudged");
  assert.match(none[0]!.reason, /not surely above guessing/);
  const rule = checks({ kind: 200 }, { ethics: { rules: { harm: "kind" } } }, {}, {
    before: { ...HALF, kind: 220 },
  });
  const [harm] = rule.filter(({ about }) => about === "ethics");
  assert.match(harm!.reason, /harm is not judged: the original itself scores 0\.550, below 0\.65/);
  const always = { rules: { harm: "kind" }, even_if_the_original_fails: true };
  const judged = checks({ kind: 200 }, { ethics: always }, {}, {
    before: { ...HALF, kind: 220 },
  });
  assert.equal(verdictOf(judged), "failed");
});

Deno.test("the mean of a group may be held to the threshold in place of each", () => {
  const own = { general: keeping(0.91), sums: keeping(1) };
  assert.equal(verdictOf(checks(own)), "failed");
  assert.equal(verdictOf(checks(own, { retention_of: "mean" })), "passed");
});

Deno.test("the interval of a retention holds the truth as often as it says", () => {
  let held = 0;
  let state = 1;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  for (let run = 0; run < 400; run++) {
    const pairs = Array.from({ length: 200 }, (_, i) => {
      const reference = random() < 0.7 ? 1 : 0;
      const score = reference === 1 ? (random() < 0.9 ? 1 : 0) : (random() < 0.1 ? 1 : 0);
      return { sample_hash: String(i), reference, score, stratum: null, stratum_rows: null };
    });
    const { interval } = pairedRetention(pairs, 0.25);
    const truth = (0.7 * 0.9 + 0.3 * 0.1 - 0.25) / (0.7 - 0.25);
    if (interval![0] <= truth && truth <= interval![1]) held++;
  }
  assert.ok(held >= 372 && held <= 400, `${held} of 400`); // 95 % is 380, its error 4.4
  assert.ok(Math.abs(widening(4) - 1.2743) < 1e-3, "2.4977 / 1.96");
  assert.equal(widening(1), 1);
});

Deno.test("of several adjustments the first whose conditions hold is taken, within what a knob takes", () => {
  const adjustments = StagePlan.parse({
    name: "one",
    actions: [{ agent: "shrinking", method: "tune" }],
    adjustments: [
      { more_failed_than: 2, skip: true },
      { below: 0.9, set: { bits: 3 }, scale: { steps: 1.5 } },
      { below: 0.95, scale: { steps: 1.2 } },
    ],
  }).adjustments;
  const of = (core: number | null, failed = 1) =>
    adjustmentsFor({ adjustments }, { core, failed })[0];
  assert.equal(of(0.5, 3), adjustments[0]);
  assert.equal(of(0.899), adjustments[1]);
  assert.equal(of(0.9), adjustments[2]);
  assert.equal(of(0.95), undefined);
  assert.equal(of(null), undefined, "what was not measured is below nothing");
  const action = {
    agent: "shrinking",
    method: "tune",
    params: { bits: 2, group_size: 64, steps: 20 },
  };
  const resolved = [{ ...action, resolved: [] }];
  assert.deepEqual(adjusted([action], resolved, adjustments[1]!, methods).set, {
    steps: 30,
    bits: 3,
  });
  const many = [{ ...resolved[0]!, params: { ...action.params, steps: 190 } }];
  const { set, short } = adjusted([action], many, adjustments[1]!, methods);
  assert.deepEqual(set, { steps: 200, bits: 3 });
  assert.deepEqual(short, ["steps is 200 in place of 285: the most it takes"]);
});
