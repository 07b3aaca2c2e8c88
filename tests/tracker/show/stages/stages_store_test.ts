/** What the store, the commands and the handoff tell of a staged run. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  benchmarksOf,
  Handoff,
  handoffOf,
  replayStudy,
  stageSizes,
  stagesPlan,
  UsageError,
} from "../../../../core/mod.ts";
import { checkRequest } from "../../../../tracker/lab/check_request.ts";
import { studyName } from "../../../../tracker/lab/find_study.ts";
import { checkStudy } from "../../../../tracker/lab/check_study.ts";
import { discoverPlugins } from "../../../../tracker/lab/discover.ts";
import { endOfStages } from "../../../../tracker/show/stages/stages_end.ts";
import { forecastOf, forecastText } from "../../../../tracker/show/stages/forecast_text.ts";
import { ledgerText } from "../../../../tracker/show/stages/ledger_text.ts";
import { writeOutputs } from "../../../../tracker/show/reports_of_study.ts";
import { buildView } from "../../../../tracker/show/view/build_view.ts";
import { EXAMPLE, exampleText, readStages } from "../../../../tracker/lab/read_document.ts";
import { stagedRows } from "../../../../tracker/show/stages/staged_rows.ts";
import { figures } from "../../../../tracker/show/plots/figures.ts";
import { stagedChoice } from "../../../../core/runs/stages/choice.ts";
import { round, runWorld, stagesWorld } from "../../../core/stages/stages_world.ts";
import { smallFacts } from "../../../core/spec_fixtures.ts";
import { assertRebuilds } from "../../../fixtures/stores/contents.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { recordedStore } from "../../../fixtures/stores/recorded.ts";

const STUDY = "study";

/** A run whose second stage is tried twice and rolled back. */
async function staged() {
  const w = stagesWorld({
    stages: [
      { name: "first", actions: [round(8)], expected: { ratio: 8 } },
      { name: "second", actions: [round(2)], adjustments: [{ below: 0.95, set: { bits: 3 } }] },
    ],
    levels: { minimum: { core: 0.9, ratio: 1.5 }, stretch: { ratio: 280 } },
    experts: { shops: ["webshop"] },
    ethics: { rules: { harm: "words" } },
  }, { loss: (bits) => bits <= 3 ? 0.12 : 0 });
  await runWorld(w);
  return { ...w, study: replayStudy(w.records, STUDY)! };
}

const run = await staged();

Deno.test("the ledger is a table: decisions by stage and attempt, and rebuilt the same", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, run.records);
    const { rows } = await store.query(`
      SELECT stage, attempt, decision, adjustment, from_artifact = to_artifact AS stays, trial_id
      FROM stage_decisions WHERE about IN ('attempt', 'shipped') ORDER BY decision_index`);
    assert.deepEqual(rows.map((row) => Object.values(row)), [
      ["first", 1, "advance", null, false, "study/t01"],
      ["second", 1, "retry", "bits=3", false, "study/t02"],
      ["second", 2, "roll_back", null, false, "study/t03"],
      ["first", 0, "ship", null, true, "study/t01"],
    ]);
    const { rows: [core] } = await store.query(`
      SELECT value, interval_low < value AS low, interval_high > value AS high, threshold, samples,
        reference, score, chance, by_estimate
      FROM stage_decisions WHERE about = 'core' AND stage = 'first'`);
    assert.equal(core!["value"], 1);
    assert.deepEqual([core!["low"], core!["high"], core!["threshold"]], [true, true, 0.95]);
    const { rows: [study] } = await store.query("SELECT stop, recommended FROM studies");
    assert.deepEqual(study, { stop: "staged", recommended: "study/t01" });
    const { rows: sized } = await store.query(
      "SELECT d.*, s.fp16_bytes / a.size_bytes AS ratio FROM stage_decisions d JOIN studies s " +
        "USING (study_id) JOIN artifacts a ON a.artifact_id = d.to_artifact WHERE d.attempt > 0 " +
        "ORDER BY decision_index",
    );
    const view = await buildView(STUDY, run.records, () => Promise.resolve(null));
    assert.equal(figures.qualityByRatio(sized), figures.qualityByRatio(stagedRows(view)));
    assert.match(figures.qualityByRatio(sized), /second, attempt 2/);
    await assertRebuilds(store);
  }));

Deno.test("the ledger is drawn attempt by attempt, with what was decided and why", () => {
  const text = ledgerText(run.study.stage_decisions);
  assert.match(text, /^first, attempt 1 \(study\/t01\)/);
  assert.match(text, /core words +passed +1\.00/);
  assert.match(text, /=> retry: .* with bits=3/);
  assert.match(text, /=> roll back: round/);
  assert.match(text, /webshop is not judged: no benchmark of that name is in this study/);
  assert.match(
    text,
    /the stretch level is not reached: the ratio to 2 bytes a weight is 1\.\d+, below 280/,
  );
  assert.match(text, /=> ship first /);
});

Deno.test("what was shipped is what is recommended, for the ledger's reason", () => {
  const choice = stagedChoice(run.study.stage_decisions, "study/t00");
  assert.deepEqual([choice.trial_id, choice.keep_original], ["study/t01", false]);
  assert.match(choice.reasons[0]!, /^The best that passed, its bytes those that were measured/);
  assert.deepEqual(stagedChoice([], "study/t00").keep_original, true);
});

Deno.test("the handoff has every field of the requirement, and says what is behind it", () => {
  const { opened, stage_decisions: ledger, trials, artifacts } = run.study;
  const plan = stagesPlan(opened.request);
  const handoff = handoffOf({
    study_id: STUDY,
    plan,
    ledger,
    trials,
    artifacts,
    facts: opened.facts,
  })!;
  assert.deepEqual(Handoff.parse(JSON.parse(JSON.stringify(handoff))), handoff);
  assert.equal(handoff.compression_level, "first");
  assert.deepEqual(handoff.benchmarks["words"]!.retention, 1);
  assert.equal(handoff.quality_gates["second"]!.retries, 1);
  assert.equal(handoff.quality_gates["second"]!.passed, false);
  assert.deepEqual(handoff.expert_benchmarks["shops"]!["webshop"]!.final, null);
  assert.equal(handoff.ready_for_edge_deployment, true, "the minimum level is reached");
  assert.ok(
    handoff.inference_latency_estimate_ms! > 0 && handoff.inference_latency_measured_ms! > 0,
  );
  assert.ok(
    Math.abs(handoff.compression_ratio - handoff.original_size_mb / handoff.size_mb) < 1e-9,
  );
  const shippedOriginal = ledger.map((row) =>
    row.decision === "ship" ? { ...row, stage_index: -1, to_artifact: "base" } : row
  );
  const kept = handoffOf({
    ...{ study_id: STUDY, plan, ledger: shippedOriginal, trials, artifacts, facts: opened.facts },
  })!;
  assert.deepEqual(
    kept.not_ready_because[0],
    `it is the original: ${shippedOriginal.find(({ decision }) => decision === "ship")!.reason}`,
  );
});

Deno.test("sizes are of what is on disk, beside what was expected and why it cannot be", () => {
  const { opened, stage_decisions, artifacts } = run.study;
  const sizes = stageSizes(stage_decisions, stagesPlan(opened.request), artifacts, opened.facts);
  assert.deepEqual(sizes.map(({ stage, attempt, passed }) => `${stage} ${attempt} ${passed}`), [
    "first 1 true",
    "second 1 false",
    "second 2 false",
  ]);
  assert.match(
    sizes[0]!.why_not!,
    /^8 times was expected, it is 1\.\d+; linear weights take 2\.00 times/,
  );
  assert.equal(sizes[1]!.why_not, null, "nothing was expected");
});

Deno.test("the end of a run writes its handoff beside the report, and a table of sizes", () =>
  inDirectory(async (folder) => {
    const view = await buildView(STUDY, run.records, () => Promise.resolve(null));
    await writeOutputs(view, folder);
    const text = endOfStages(view, folder);
    assert.match(text, /Shipped +first: ready for edge deployment/);
    const written = JSON.parse(await Deno.readTextFile(join(folder, "handoff.json")));
    assert.equal(Handoff.parse(written).study_id, STUDY);
    assert.match(await Deno.readTextFile(join(folder, "handoff.html")), /what first left/);
    const page = await Deno.readTextFile(join(folder, "report.html"));
    assert.match(page, /<h2[^>]*>The stages<.*Quality by compression ratio.*final retention/s);
    assert.ok(page.split("<h2").length - 1 <= 10, "parts of a report");
    const markdown = await Deno.readTextFile(join(folder, "report.md"));
    assert.match(markdown, /\| second 2 +\| failed, rolled back +\|.*core words/);
    assert.match(markdown, /first 1: 8 times was expected, it is 1\.\d+/);
    assert.match(markdown, /!\[.*\]\(stages\.svg\)/);
    const curve = await Deno.readTextFile(join(folder, "stages.svg"));
    assert.match(curve, /core keeps/);
    assert.match(curve, /3 attempts on one set of benchmarks; the smallest that keeps .* is first/);
    const crate = await Deno.readTextFile(join(folder, "ro-crate-metadata.json"));
    for (const name of ["handoff.json", "handoff.html", "stages.svg"]) {
      assert.ok(crate.includes(name));
    }
  }));

Deno.test("the document of three codecs is whole, and its forecast says what it would take", async () => {
  const request = readStages(EXAMPLE);
  const plan = stagesPlan(request);
  assert.deepEqual(plan.stages.map(({ name, core, expert }) => [name, core, expert]), [
    ["seedlm", 0.98, 0.98],
    ["vptq", 0.95, 0.93],
    ["hyper_compression", 0.9, 0.88],
  ]);
  assert.deepEqual([plan.cumulative, plan.critical.core, plan.critical.expert_drop], [
    0.84,
    0.8,
    0.25,
  ]);
  assert.deepEqual(plan.edge_of_chaos, {
    wanted: [0.7, 0.8],
    allowed: [0.65, 0.85],
    fails: "outside_allowed",
  });
  assert.deepEqual(request.samples, {
    proxy: 125,
    between: [{ fidelity: "times_2", samples: 250 }, { fidelity: "times_4", samples: 500 }],
    full: 1000,
  });
  const name = studyName(
    { ...request, dataset: "mmlu,gsm8k,humaneval,hellaswag,arc_chal,truth" },
    new Date(0),
  );
  assert.equal(
    name,
    "demo-mmlu-gsm8k-humaneval-hellaswag-arc-chal-19700101-000000",
    "no dash is left",
  );
  const odd = { ...request, model_name: "./模型", dataset: "--.jsonl" };
  assert.equal(studyName(odd, new Date(0)), "model-data-19700101-000000", "an option's name");
  const registry = await discoverPlugins([]);
  const spec = run.study.opened.spec;
  const priced = { ...request, stages: { ...plan, price_per_hour: 1.5 } };
  const forecast = forecastOf({ request: priced, spec, facts: smallFacts() }, registry)!;
  assert.ok(forecast.most_seconds > forecast.seconds && forecast.storage_bytes > 0);
  assert.ok(Math.abs(forecast.cost!.value - 1.5 * forecast.seconds / 3600) < 1e-9);
  assert.match(
    forecastText(forecast),
    /not judged: mmlu: no benchmark of that name is in this study/,
  );
  assert.match(forecastText(forecast), /cost \d+\.\d\d USD, at most \d+\.\d\d USD/);
});

Deno.test("a notebook's document is the same study as a file's: its rungs and its dataset", () => {
  const asked = readStages(EXAMPLE);
  const { model_name } = asked;
  const plan = stagesPlan(asked);
  const given = checkStudy({ model_name, stages: plan }, "study");
  const written = checkStudy({ model_name, ...plan }, "study"); // as in a file, its fields side by side
  assert.deepEqual(given, written);
  assert.deepEqual(given.samples, readStages(EXAMPLE).samples);
  assert.equal(given.dataset, benchmarksOf(plan).join(","));
  const own = checkStudy({ model_name, stages: plan, samples: { proxy: 20, full: 40 } }, "study");
  assert.deepEqual(own.samples, { proxy: 20, full: 40 }, "what is said is kept");
});

Deno.test("a method that is not there is refused before anything is made", async () => {
  const registry = await discoverPlugins([]);
  const action = { agent: "codec", method: "seedlmm" };
  const document = {
    model_name: "tiny",
    stages: [{ name: "one", actions: [action] }],
    core: ["tiny_words"],
  };
  const request = checkStudy(document, "stages");
  const { dataset } = smallFacts();
  const named = { ...dataset, dataset: "tiny_words", path: null };
  assert.throws(() => checkRequest(request, named, registry, undefined), /Did you mean "seedlm"/);
});

Deno.test("a document that is none is refused in a sentence", () =>
  inDirectory((folder) => {
    const path = join(folder, "stages.yaml");
    const refused = (text: string, pattern: RegExp) => {
      writeFileSync(path, text);
      assert.throws(() => readStages(path), (error: unknown) =>
        error instanceof UsageError && pattern.test(error.message), text);
    };
    refused("[1, 2]", /must be an object with model_name, stages and core/);
    refused("a: [", /Cannot read the stages/);
    refused("model_name: tiny\ndataset: tiny", /without "stages"/);
    const one = "model_name: tiny\ncore: [tiny_words]\nstages:\n  - ";
    refused(
      `${one}{name: a b, actions: [{agent: q, method: rtn}]}`,
      /"stages.0.name": "a b"/,
    );
    refused(`${one}{name: a, action: []}`, /Unknown field of stages.0 "action"/);
    refused(`${one}{name: a, actions: []}`, /"stages.0.actions": \[\] is refused/);
    refused(
      `${one}{name: a, actions: [{agent: q, method: rtn}]}\ncritcal: {}`,
      /^stages: Unknown field "critcal"\. Did you mean "critical"/,
    );
    refused(
      `${one}{name: a, actions: [{agent: q, method: rtn}]}\nsamples: {first: 50, most: 20}`,
      /first is above most/,
    );
    assert.throws(() =>
      readStages(join(folder, "none.yaml")), /Cannot read the stages/);
    return Promise.resolve();
  }));

Deno.test("every shipped document is read; an unknown one gets the nearest name", async () => {
  const folder = await Deno.makeTempDir();
  try {
    for (const name of ["codecs", "composed"]) {
      const path = join(folder, `${name}.yaml`);
      writeFileSync(path, exampleText(name));
      const { stages } = stagesPlan(readStages(path));
      assert.ok(stages.length >= 2, name);
      assert.ok(stages.every(({ actions }) => actions[0]!.agent === "codec"), name);
    }
    assert.throws(() => exampleText("compsed"), /Unknown document "compsed".*"composed"/s);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
