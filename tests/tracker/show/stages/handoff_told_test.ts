/** What leaves a staged run: its handoff as a page, its schema, its names in MLflow. */
import assert from "node:assert/strict";
import {
  benchmarkComparison,
  Handoff,
  handoffOf,
  type JournalRecord,
  replayStudy,
  stagesPlan,
} from "../../../../core/mod.ts";
import { schemaCommand } from "../../../../tracker/commands/ask/schema.ts";
import { describe } from "../../../../tracker/exchange/mlflow/describe/describe.ts";
import { learn, newStudy } from "../../../../tracker/exchange/mlflow/describe/known_study.ts";
import { escapeHtml } from "../../../../tracker/show/pages/client/table.js";
import type { SessionInput } from "../../../../tracker/session/start_study.ts";
import { LabStudy } from "../../../../tracker/session/lab_study.ts";
import { openSession } from "../../../../tracker/session/study_session.ts";
import { handoffHtml } from "../../../../tracker/show/stages/handoff_page.ts";
import { round, runWorld, stagesWorld } from "../../../core/stages/stages_world.ts";

const STUDY = "study";

/** A run whose first stage passes, and whose second is tried twice and left. */
async function staged() {
  const w = stagesWorld({
    stages: [
      { name: "first", actions: [round(8)], expected: { ratio: 8 } },
      { name: "second", actions: [round(2)], adjustments: [{ set: { bits: 3 } }] },
    ],
    levels: { minimum: { core: 0.9, ratio: 1.5 } },
    experts: { shops: ["words", "webshop"] },
    ethics: { rules: { harm: "words" } },
    edge_of_chaos: { allowed: [0.1, 0.99], wanted: [0.2, 0.9] },
  }, { loss: (bits) => bits <= 3 ? 0.12 : 0 });
  await runWorld(w);
  return { ...w, study: replayStudy(w.records, STUDY)! };
}

const run = await staged();

function handoff(): Handoff {
  const { opened, stage_decisions: ledger, trials, artifacts } = run.study;
  const plan = stagesPlan(opened.request);
  return handoffOf({ study_id: STUDY, plan, ledger, trials, artifacts, facts: opened.facts })!;
}

Deno.test("the handoff is a page with every field, no script, and nothing fetched", () => {
  const told = handoff();
  const page = handoffHtml(told);
  assert.match(page, /<h1>Handoff: what first left<\/h1>/);
  assert.match(page, /<strong>Ready for edge deployment\.<\/strong>/);
  for (const part of ["Core benchmarks", "Experts", "Behaviour", "Quality gates", "Sizes"]) {
    assert.match(page, new RegExp(`<h2[^>]*>${part}`), part);
  }
  assert.match(page, /webshop is not judged: no benchmark of that name is in this study/);
  assert.match(page, /8 times was expected, it is 1\.\d+/);
  assert.ok(page.includes(escapeHtml(told.artifact_id)), told.artifact_id);
  assert.ok(page.includes(escapeHtml(told.recommended_hardware)), told.recommended_hardware);
  assert.match(page, /second<\/td>.*?failed<\/td>.*?>1<\/td>/s, "its one retry");
  assert.doesNotMatch(page, /<script|https?:\/\//);
  assert.match(page, /script-src 'none'/);
  assert.match(page, /prefers-color-scheme: dark/);
  assert.match(page, /@media print/);
});

Deno.test("a name that would be markup is text on the page, and one that is not ready says why", () => {
  const told = handoff();
  const page = handoffHtml({
    ...told,
    compression_level: "original",
    model: "/tmp/<img src=x onerror=alert(1)>",
    ready_for_edge_deployment: false,
    not_ready_because: ["no stage passed: it is the original"],
    inference_latency_measured_ms: null,
    sizes: [],
  });
  assert.match(page, /<h1>Handoff: the original<\/h1>/);
  assert.match(page, /Not ready for edge deployment.*no stage passed/s);
  assert.match(page, /not measured/);
  assert.ok(!page.includes("<img") && !/<h2[^>]*>Sizes/.test(page));
});

Deno.test("pare schema handoff is the schema of handoff.json", () => {
  const { log } = console;
  const lines: string[] = [];
  console.log = (text: string) => lines.push(text);
  try {
    schemaCommand("handoff");
  } finally {
    console.log = log;
  }
  const schema = JSON.parse(lines.join("\n"));
  assert.deepEqual(Object.keys(schema.properties).sort(), Object.keys(handoff()).sort());
  assert.ok(schema.required.includes("ready_for_edge_deployment"));
  assert.equal(schema.additionalProperties, false);
});

/** Points of the study's own run by name, the last of each, and texts by path. */
function mirrored(records: readonly JournalRecord[]) {
  const study = newStudy(STUDY, records[0]!.at);
  const effects = records.flatMap((record) => {
    learn(study, record);
    return [...describe(record, study, { root: "/store", checkpoints: "none" })]
      .flatMap((part) => part.effects);
  }).filter(({ to }) => to.trial_id === null);
  const metrics = new Map(
    effects.flatMap((one) => one.kind === "log" ? one.data.metrics ?? [] : [])
      .map(({ key, value }) => [key, value]),
  );
  const texts = new Map(
    effects.flatMap((one) => one.kind === "text" ? [[one.path, one.text] as const] : []),
  );
  return { metrics, texts };
}

Deno.test("MLflow has the ledger under the requirement's names, a retry under its own", () => {
  const { metrics, texts } = mirrored(run.records);
  const rows = run.study.stage_decisions;
  const core = (stage: string, attempt: number) =>
    rows.find((row) => row.stage === stage && row.attempt === attempt && row.about === "core")!;
  const first = core("first", 1);
  assert.equal(metrics.get("first/core/words"), first.score);
  assert.equal(metrics.get("first/words"), first.score);
  assert.equal(metrics.get("first/retention/words"), first.value);
  assert.equal(metrics.get("first/degradation/words"), 1 - first.value!);
  assert.equal(metrics.get("first/passed/words"), 1);
  assert.equal(metrics.get("first/expert/shops/words"), first.score);
  assert.equal(metrics.get("first/eudaimonia/harm"), first.score);
  assert.ok(Math.abs(metrics.get("first/edge_of_chaos/accuracy")! - first.score!) < 1e-9);
  assert.equal(metrics.get("first/overall_passed"), 1);
  assert.equal(metrics.get("first/num_failed"), 0);
  const size = rows.find((row) => row.stage === "first" && row.about === "size")!;
  assert.equal(metrics.get("first/model_size_mb"), size.value! / 1e6);
  assert.ok(metrics.get("first/compression_ratio")! > 1);
  assert.equal(metrics.get("second/overall_passed"), 0);
  assert.equal(metrics.get("second_retry/retention/words"), core("second", 2).value);
  assert.ok(metrics.get("second_retry/num_failed_benchmarks")! >= 1);
  assert.equal(metrics.get("baseline/core/words"), first.reference);
  assert.equal(metrics.get("baseline/expert/shops/words"), first.reference);
  assert.equal(metrics.get("baseline/eudaimonia/harm"), first.reference);
  assert.equal(metrics.get("baseline/edge_of_chaos/accuracy"), first.reference);
  assert.ok(!metrics.has("first/expert/shops/webshop"), "what was not judged has no figure");
  const table = JSON.parse(texts.get("stages/benchmark_comparison.json")!);
  assert.deepEqual(table.columns, [
    ...["Benchmark", "Baseline", "first", "second", "Final Retention"],
  ]);
  assert.deepEqual(table.data, [
    ["words", first.reference, first.score, core("second", 2).score, first.value],
  ]);
  assert.equal(JSON.parse(texts.get("stages/second_retry.json")!).length > 3, true);
});

Deno.test("a run that shipped the original has no final retention", () => {
  const plan = stagesPlan(run.study.opened.request);
  const ledger = run.study.stage_decisions.map((row) =>
    row.decision === "ship" ? { ...row, stage_index: -1, trial_id: "study/t00" } : row
  );
  assert.equal(benchmarkComparison(plan, ledger).data[0]!.at(-1), null);
  assert.deepEqual(benchmarkComparison(plan, []).data, [["words", null, null, null, null]]);
});

Deno.test("a staged study is not driven by hand: a sentence says what to call", async () => {
  const { opened } = run.study;
  const session = openSession(
    new LabStudy({
      ...{ study_id: STUDY, request: opened.request, facts: opened.facts, spec: opened.spec },
      store: { current: () => Promise.resolve(null) },
    } as unknown as SessionInput), // it is refused before anything else is asked for
  );
  const said = /Cannot drive study by hand as its stages run in the order .*: call run\(\)/;
  await assert.rejects(session.byHand(), said);
  await assert.rejects(session.propose(), said);
  await assert.rejects(session.run({ actions: [round(8)] }), said);
  await assert.rejects(session.episodes().next(), said);
});

/** A run that a critical failure of its second stage ended, none of its behaviour judged. */
async function aborted() {
  const w = stagesWorld({
    stages: [8, 2, 3].map((bits, i) => ({ name: `stage_${i}`, actions: [round(bits)] })),
    experts: { shops: ["words", "webshop"] },
    ethics: { rules: { harm: "words" } },
    edge_of_chaos: { allowed: [0.001, 0.002], wanted: [0.001, 0.002] },
  }, { loss: (bits) => bits === 2 ? 0.6 : 0 });
  await runWorld(w);
  const { opened, stage_decisions: ledger, trials, artifacts } = replayStudy(w.records, STUDY)!;
  const plan = stagesPlan(opened.request);
  const told = handoffOf({
    study_id: STUDY,
    plan,
    ledger,
    trials,
    artifacts,
    facts: opened.facts,
  })!;
  return { records: w.records, ledger, told };
}

Deno.test("the handoff of a run that gives back the original has every field filled", async () => {
  const { ledger, told } = await aborted();
  assert.equal(told.compression_level, "original");
  const { reference } = ledger.find(({ about }) => about === "core")!;
  const whole = { baseline: reference, final: reference, retention: 1, interval: null };
  assert.ok(reference! > 0.5);
  assert.deepEqual(told.benchmarks, { words: whole });
  const unknown = { baseline: null, final: null, retention: null, interval: null };
  assert.deepEqual(told.expert_benchmarks, { shops: { words: whole, webshop: unknown } });
  assert.deepEqual(told.edge_of_chaos, { accuracy: reference, status: "original" });
  assert.deepEqual(told.eudaimonia, { harm: reference });
  assert.deepEqual(
    Object.values(told.quality_gates).map(({ passed, decision }) => [passed, decision]),
    [[true, "advance"], [false, "abort"], [false, "not_tried"]],
  );
  assert.match(told.quality_gates["stage_2"]!.reason, /^the run ended at stage_1: abort$/);
  assert.match(told.not_ready_because[0]!, /^it is the original: a critical failure of stage_1/);
  assert.match(handoffHtml(told), /stage_2<\/td>.*?not tried/s);
});

Deno.test("MLflow has behaviour that is measured and not judged, and each domain's retention", async () => {
  const { records, ledger } = await aborted();
  const { metrics } = mirrored(records);
  const row = ledger.find(({ about }) => about === "core")!;
  assert.equal(metrics.get("stage_0/edge_of_chaos/accuracy"), row.score);
  assert.equal(metrics.get("stage_0/expert/shops/retention"), row.value);
  assert.ok(!metrics.has("stage_0/edge_of_chaos/passed"), "it is not judged");
  assert.ok(metrics.has("baseline/core/words"));
  const others = [...metrics.keys()].filter((name) => name.startsWith("baseline/core/"));
  assert.deepEqual(others, ["baseline/core/words"], "words_text is no core benchmark");
});
