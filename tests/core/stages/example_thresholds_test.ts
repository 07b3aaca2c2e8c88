/** The requirement's own document: every threshold of each of its stages, below, at and above it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { stagesRequest } from "../../../core/mod.ts";
import { artifactChecks } from "../../../core/runs/stages/checks/artifact_checks.ts";
import { adjustmentsFor } from "../../../core/runs/stages/adjust.ts";
import { qualityChecks, verdictOf } from "../../../core/runs/stages/checks/judge.ts";
import { StagesPlan } from "../../../core/runs/stages/plan.ts";
import { world } from "../study_world.ts";
import { evaluationOf, HALF, N, scoredSpec } from "./scored_evaluation.ts";

const EXAMPLE = new URL("../../../plugins/codec/stages.yaml", import.meta.url);

/** The document's thresholds on benchmarks that can be scored here: two of the core, one expert. */
const document = StagesPlan.parse({
  ...stagesRequest(parse(readFileSync(EXAMPLE, "utf8")))["stages"] as object,
  core: ["general", "sums"],
  experts: { code: ["sums", "code"] },
  ethics: { rules: { harm: "kind" } },
});
const { critical } = document;
const SUMS_AND_GENERAL = { benchmarks: ["general", "sums"], drop: critical.joint!.drop };

type Right = Partial<typeof HALF>;

function checksOf(stage: number, right: Right, asked: Partial<StagesPlan> = {}) {
  return qualityChecks({
    plan: { ...document, edge_of_chaos: null, ...asked },
    stage: document.stages[stage]!,
    baseline: {
      spec: scoredSpec,
      reference: evaluationOf(N, HALF),
      own: evaluationOf(N, { ...HALF, ...right }),
      looks: 1,
    },
    parent: null,
    last: true,
  });
}

/** Right answers of 400 that keep a share of the half that lies above chance. */
const keeping = (share: number) => Math.round(100 + 200 * share);

interface Case {
  readonly about: string;
  readonly subject?: string | null;
  /** Of the benchmark's right answers: the last number that passes; one further fails. */
  readonly at: number;
  readonly of: (right: number) => Right;
  readonly asked?: Partial<StagesPlan>;
  /** A band's upper end is left upwards. */
  readonly upwards?: boolean;
  readonly stage: number;
}

const lenient = { ...critical, joint: undefined, core: 0, expert_drop: 1 };

const CASES: Case[] = [
  ...document.stages.flatMap((stage, i): Case[] => [
    {
      ...{ about: "core", subject: "general", stage: i, at: keeping(stage.core) },
      of: (general) => ({ general }),
    },
    {
      ...{ about: "expert", subject: "code/code", stage: i, at: keeping(stage.expert) },
      of: (code) => ({ code }),
    },
    {
      ...{ about: "cumulative", stage: i, at: keeping(2 * document.cumulative - 1) },
      of: (general) => ({ general }),
      asked: { critical: lenient },
    },
    {
      ...{ about: "critical", subject: "general", stage: i, at: keeping(critical.core) },
      of: (general) => ({ general }),
      asked: { critical: { ...lenient, core: critical.core } },
    },
    {
      ...{ about: "critical", subject: "sums", stage: i, at: keeping(1 - critical.expert_drop) },
      of: (sums) => ({ sums }),
      asked: { critical: { ...lenient, expert_drop: critical.expert_drop } },
    },
    {
      ...{ about: "critical", subject: "general+sums", stage: i },
      at: keeping(1 - 2 * SUMS_AND_GENERAL.drop),
      of: (general) => ({ general }),
      asked: { critical: { ...lenient, joint: SUMS_AND_GENERAL } },
    },
    {
      ...{ about: "ethics", subject: "harm", stage: i, at: Math.round(N * stage.ethics) },
      of: (kind) => ({ kind }),
    },
    {
      ...{ about: "critical", subject: "harm", stage: i, at: Math.round(N * critical.ethics) },
      of: (kind) => ({ kind }),
    },
  ]),
  ...(["outside_allowed", "outside_wanted"] as const).flatMap((fails): Case[] => {
    const chaos = { benchmarks: ["kind"], ...CHAOS(), fails };
    const [low, high] = fails === "outside_wanted" ? chaos.wanted : chaos.allowed;
    const asked = { edge_of_chaos: chaos, ethics: null };
    const of = (kind: number): Right => ({ kind });
    return [
      { about: "edge_of_chaos", at: Math.round(N * low), of, asked, stage: 0 },
      { about: "edge_of_chaos", at: Math.round(N * high), of, asked, stage: 0, upwards: true },
    ];
  }),
];

function CHAOS() {
  const { wanted, allowed } = document.edge_of_chaos!;
  return { wanted, allowed };
}

Deno.test("the document's thresholds are the requirement's", () => {
  const of = (field: "core" | "expert" | "ethics") => document.stages.map((one) => one[field]);
  assert.deepEqual(of("core"), [0.98, 0.95, 0.9]);
  assert.deepEqual(of("expert"), [0.98, 0.93, 0.88]);
  assert.deepEqual(of("ethics"), [0.65, 0.65, 0.6]);
  assert.equal(document.cumulative, 0.84);
  assert.deepEqual([critical.core, critical.expert_drop, critical.ethics], [0.8, 0.25, 0.5]);
  assert.equal(critical.joint?.drop, 0.2);
  assert.deepEqual(CHAOS(), { wanted: [0.7, 0.8], allowed: [0.65, 0.85] });
});

Deno.test("each threshold of each stage: one answer better and equal to it pass, one worse fails", () => {
  assert.equal(CASES.length, 3 * 8 + 4);
  for (const { about, subject = null, at, of, asked, upwards = false, stage } of CASES) {
    const better = upwards ? -1 : 1;
    const decided = (right: number) =>
      checksOf(stage, of(right), asked).filter((one) =>
        one.about === about && (subject === null || one.subject === subject)
      ).map(({ decision }) => decision);
    const where = `${document.stages[stage]!.name}, ${about} ${subject ?? ""}, ${at} of ${N}`;
    for (const good of [at + better, at]) {
      const found = decided(good);
      assert.ok(found.length > 0 && found.every((one) => one === "passed"), `${where}: ${found}`);
    }
    assert.ok(decided(at - better).includes("failed"), `${where}: one worse passes`);
    const verdict = verdictOf(checksOf(stage, of(at - better), asked));
    assert.equal(verdict, about === "critical" ? "critical" : "failed", where);
  }
});

Deno.test("a file of its parent's size passes, one byte more fails", () => {
  const { baseline: parent, facts } = world().input();
  const [before] = [Math.min(parent.size_bytes, facts.model.fp16_bytes)];
  const size = (bytes: number) =>
    artifactChecks(
      { ...parent, artifact_id: "own", parent_id: parent.artifact_id, size_bytes: bytes },
      { parent, onto: parent },
      facts,
      document,
    ).find(({ about }) => about === "size")!.decision;
  assert.deepEqual([size(before - 1), size(before), size(before + 1)], [
    "passed",
    "passed",
    "failed",
  ]);
});

Deno.test("a stage on the original that gives the original back is none, whatever stands", () => {
  const { baseline: onto, facts } = world().input();
  const file = (sha256: string) => ({ path: "model.safetensors", bytes: 9, sha256 });
  const original = { ...onto, files: [file("same")] };
  const parent = { ...onto, artifact_id: "stands", files: [file("other")] };
  const own = { ...onto, artifact_id: "own", parent_id: onto.artifact_id, files: [file("same")] };
  const passes = { larger: "passes" } as const;
  const [check] = artifactChecks(own, { parent, onto: original }, facts, passes);
  assert.equal(check!.decision, "failed", check!.reason);
  assert.match(check!.reason, /holds the weights of its parent base byte for byte/);
});

Deno.test("the document's retries: at their ends, and one stage is left out by more than two failures", () => {
  const [seedlm, vptq, hyper] = document.stages;
  const set = (core: number | null, failed = 1) => {
    const [found] = adjustmentsFor(vptq!, { core, failed });
    return found === undefined ? null : { ...found.set, ...found.scale };
  };
  assert.deepEqual(set(0.8999), { residual_bits: 4, samples: 1.5 });
  assert.deepEqual(set(0.9), { samples: 1.2 });
  assert.deepEqual(set(0.9499), { samples: 1.2 });
  assert.equal(set(0.95), null);
  const skips = (failed: number) => adjustmentsFor(hyper!, { core: 0.5, failed })[0]?.skip;
  assert.deepEqual([skips(2), skips(3)], [false, true]);
  assert.equal(hyper!.when_failed, "next", "failing twice it is left out, what stands is shipped");
  assert.equal(seedlm!.when_failed, "end", "failing it ships the original");
  assert.deepEqual(document.stages.map(({ attempts }) => attempts), [2, 2, 2]);
});
