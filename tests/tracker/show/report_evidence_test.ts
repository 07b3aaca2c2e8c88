import assert from "node:assert/strict";
import { comparableStudy, type JournalRecord, StudyRequest, trialName } from "../../../core/mod.ts";
import { benchmarkTable } from "../../../tracker/show/reports/benchmark_blocks.ts";
import { studyReport } from "../../../tracker/show/reports/study_report.ts";
import { reportBlocks } from "../../../tracker/show/reports_of_study.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { trialBlocks } from "../../../tracker/show/reports/trial_blocks.ts";
import { speedBlocks } from "../../../tracker/show/reports/speed_blocks.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { trialColumns } from "../../../tracker/show/view/trial_columns.ts";
import { trialRows } from "../../../tracker/show/view/trial_rows.ts";
import { figure, run, samplesIn, world } from "../../core/study_world.ts";

/** A study of the simulated world with its samples; `more` records stand at its end. */
async function viewWith(more: (study_id: string, trialIds: string[]) => JournalRecord[]) {
  const w = world();
  const { study_id, trials } = await run(w);
  const full = trials.filter(({ fidelity }) => fidelity === "full").map((one) => one.trial_id);
  return await buildView(study_id, [...w.records, ...more(study_id, full)], samplesIn(w));
}

function written(study_id: string, trial_id: string, template: string): JournalRecord {
  return {
    type: "samples_written",
    at: "2026-01-01T00:00:00Z",
    study_id,
    trial_id,
    fidelity: "full",
    path: "x",
    rows: 1,
    sha256: "x",
    protocol: { words: template },
    protocol_parts: { words: { template, few_shot: "0" } },
  };
}

Deno.test("a trial of another protocol is not compared, and the report says what differs", async () => {
  const equal = await viewWith((study, ids) => ids.map((id) => written(study, id, "a")));
  assert.equal(equal.refused_comparisons.size, 0);
  let other = "";
  const view = await viewWith((study, [base, first, ...rest]) => {
    other = first!;
    return [base!, ...rest].map((id) => written(study, id, "a"))
      .concat(written(study, first!, "b"));
  });
  assert.deepEqual([...view.refused_comparisons.keys()], [other]);
  assert.equal(view.comparisons.has(other), false);
  assert.equal(view.comparisons.size, equal.comparisons.size - 1);
  const report = renderMarkdown(reportBlocks(view));
  assert.match(report, /## Not compared/);
  assert.match(report, /protocols differ: template is a in the baseline and b in the trial/);
});

Deno.test("a report of trials that nobody timed says nothing of speed", async () => {
  const view = await viewWith(() => []);
  const said = (of: typeof view) => renderMarkdown(reportBlocks(of));
  const speed = /Latency and peak memory: |Speed and memory are those of/g;
  assert.equal(said(view).match(speed)?.length, 2);
  const rows = view.rows.map((row) => ({ ...row, latency_ms: null, memory_bytes: null }));
  assert.equal(said({ ...view, rows }).match(speed), null);
});

Deno.test("the report lists alerts with their evidence, what was done and what became of it", async () => {
  const view = await viewWith((study_id, [, trial_id]) => [{
    type: "alert",
    at: "2026-01-01T00:00:00Z",
    study_id,
    trial_id: trial_id!,
    condition: "empty_answers",
    evidence: "words, full: 41 of 400 answers (10 %) are empty",
    action: "recorded",
    outcome: "the trial went on",
  }]);
  const number = view.trials.find(({ trial_id }) => trial_id === view.alerts.at(-1)!.trial_id)!;
  const line = renderMarkdown(reportBlocks(view)).split("\n")
    .find((one) => one.includes("empty answers"));
  assert.equal(
    line,
    `| ${trialName(number.number)} | empty answers | words, full: 41 of 400 ` +
      "answers (10 %) are empty | recorded | the trial went on |",
  );
});

Deno.test("the report puts decode and prefill with their quartiles beside the roofline", async () => {
  const view = await viewWith(() => []);
  const spread = { minimum: 1, lower_quartile: 9.5, upper_quartile: 12, maximum: 40 };
  const method = "estimate; 4 W a busy thread";
  const [trial] = view.trials;
  const timed = {
    ...trial!,
    measurements: [
      { ...figure("latency_ms", 10, "openvino", 0.1), spread, method: "median of 5 passes" },
      { ...figure("prefill_tokens_per_s", 200, "openvino", 0.1), spread },
      { ...figure("roofline_ms", 4, "openvino", null), method: "bytes over bandwidth" },
      figure("decode_tokens_per_s", 100, "openvino", null),
      figure("memory_bytes", 5e8, "openvino", null),
      { ...figure("energy_j_per_1k_tokens", 70, "openvino", 1.5), method },
      figure("co2_g_per_1k_tokens", 0.009, "openvino", null),
    ],
  };
  const report = renderMarkdown(speedBlocks({ ...view, trials: [timed] }));
  assert.match(
    report,
    /\| t00 \| 10\.0 \(9\.50 to 12\.0\) \| 4\.00 \| 2\.50 \| 100 \| 200 \(9\.50 to 12\.0\) \| /,
  );
  assert.match(report, /500\.0 MB \| – \| 70\.0 ± 1\.5 \| 0\.00900 \|/);
  assert.match(report, /Energy: estimate; 4 W a busy thread\. CO2: not measured\./);
  assert.deepEqual(speedBlocks({ ...view, trials: [] }), []);
  assert.doesNotMatch(report, /KV cache/);
});

Deno.test("the report says why trials are no faster, a sentence once with all of them", async () => {
  const view = await viewWith(() => []);
  const [, first, second, third] = view.trials;
  const no_faster = "zeros are multiplied too";
  const change = { part: "linear", effect: "prunes", form: null, least_cosine: null, no_faster };
  const artifacts = new Map(
    [...view.artifacts].map(([id, one]) => {
      const pruned = [first, second].some((trial) => trial!.artifact_ids.includes(id));
      return [id, pruned ? { ...one, changes: [change] } : one];
    }),
  );
  const trials = [first!, second!, third!].map((trial, n) => ({
    ...trial,
    number: n + 1,
    measurements: [figure("latency_ms", 10, "openvino", 0.1)],
  }));
  const report = renderMarkdown(speedBlocks({ ...view, trials, artifacts }));
  assert.match(report, /- t01, t02: zeros are multiplied too\.\n/);
  assert.doesNotMatch(renderMarkdown(speedBlocks({ ...view, trials })), /multiplied too/);
});

Deno.test("bytes of the KV cache have a column where a trial measured them, by the longest context", async () => {
  const view = await viewWith(() => []);
  const [first, ...rest] = view.trials;
  const kv = { ...figure("kv_bytes", 3e6, "transformers", null), method: "after 4096 tokens" };
  const measurements = [
    { ...figure("latency_ms", 10, "transformers", 0.1), provenance: "emulated" as const },
    { ...kv, value: 1e6, slice: "128 tokens" },
    kv,
  ];
  const trials = [{ ...first!, measurements }, ...rest];
  const headings = (rows: typeof view.rows) =>
    trialColumns({ ...view, rows }).map(({ heading }) => heading);
  assert.ok(!headings(view.rows).includes("KV cache as it ran"));
  const rows = trialRows(comparableStudy(trials, view.spec).trials, {
    ...view,
    probabilities: {},
  });
  const column = trialColumns({ ...view, rows }).at(-1)!;
  assert.equal(column.heading, "KV cache as it ran");
  assert.deepEqual(rows.slice(0, 2).map(column.cell), ["3.0 MB", "–"]);
  const report = renderMarkdown(speedBlocks({ ...view, trials }));
  assert.match(report, /\| GPU memory \| KV cache \| J\/1k tokens/);
  assert.match(report, /\| – \| 3\.0 MB \| – \|/);
  assert.match(
    report,
    /\| 10\.0, emulated \|/,
    "no time of a cache that torch cuts stands as measured",
  );
  assert.match(report, /KV cache: after 4096 tokens\./);
  const at = { ...figure("kv_bytes_at_context", 5e6, "none", null), runtime: null };
  const counted = trialRows(
    comparableStudy([{ ...first!, measurements: [at] }, ...rest], view.spec).trials,
    { ...view, probabilities: {} },
  );
  const spec = { ...view.spec, context_tokens: 8192 };
  const terms = renderMarkdown(trialBlocks({ ...view, rows: counted, spec }));
  assert.match(terms, /\*\*KV cache at 8,192 tokens\*\*: bytes of keys and values at 8,192 tokens/);
});

Deno.test("the report shows a benchmark's means and parts, the front's trials beside the baseline", async () => {
  const view = await viewWith((study, ids) => ids.map((id) => written(study, id, "a")));
  const part = (slice: string, value: number) => ({
    ...figure("accuracy", value, null, null),
    task: "words",
    slice,
    n: 7,
  });
  const [base, ...rest] = view.trials;
  const member = rest.find(({ trial_id }) => view.front.includes(trial_id))!;
  const trials = view.trials.map((trial) => ({
    ...trial,
    measurements: trial === base
      ? [...trial.measurements, part("zoology", 0.5), part("art", 0.75), part("mean_of_two", 0.625)]
      : trial === member
      ? [...trial.measurements, part("art", 0.25)]
      : trial.measurements,
  }));
  const report = renderMarkdown(reportBlocks({ ...view, trials }));
  const rows = report.slice(report.indexOf("### Parts of words")).split("\n").slice(2, 7);
  const column = rows[0]!.split(" | ").findIndex((cell) =>
    cell.startsWith(trialName(member.number))
  );
  assert.deepEqual(
    rows.slice(2).map((row) => row.split(" | ").slice(0, 3).join(" ")),
    ["| mean_of_two 7 0.6250", "| art 7 0.7500", "| zoology 7 0.5000"],
  );
  assert.equal(rows[3]!.split(" | ")[column]!.replace(" |", ""), "0.2500");
  assert.equal(rows[2]!.split(" | ")[column]!.replace(" |", ""), "–");
  assert.match(report, /### Protocols\n\n- words: template a; few_shot 0/);
});

Deno.test("the report shows whatever a benchmark is measured by, and nothing of speed beside it", async () => {
  const view = await viewWith(() => []);
  const [base] = view.trials;
  const group = { ...figure("group_accuracy", 0.4321, null, null), task: "mmlu_stem" };
  const scored = { ...figure("runtime_accuracy", 0.1234, "openvino", null), task: "words" };
  const trial = { ...base!, measurements: [...base!.measurements, group, scored] };
  const table = renderMarkdown([benchmarkTable(view, trial, "score")]);
  assert.match(table, /\| mmlu_stem \| .* \| group accuracy \| 0\.4321 \|/);
  assert.doesNotMatch(table, /0\.1234|latency_ms|size_bytes/);
});

Deno.test("the report of an evaluation says nothing of trials, fronts and rewards", async () => {
  const view = await viewWith((study, ids) => ids.map((id) => written(study, id, "a")));
  const { model_name, dataset } = view.request;
  const request = StudyRequest.parse({ model_name, dataset, evaluation: {} });
  const alone = { ...view, trials: view.trials.slice(0, 1), request };
  const report = renderMarkdown(studyReport(alone, null, ""));
  assert.match(report, /## Benchmarks\n[\s\S]*\| words \|/);
  assert.match(report, /## Run it again/);
  assert.doesNotMatch(report, /recommended|front|[Rr]eward|ms\/token|What to try next/);
});

Deno.test("the report says of every trial who proposed it and why", async () => {
  const view = await viewWith(() => []);
  const lines = renderMarkdown(reportBlocks(view)).split("\n");
  for (const { number, strategy } of view.trials.filter((trial) => trial.strategy !== null)) {
    const id = `t${String(number).padStart(2, "0")}`;
    const row = lines.find((line) =>
      line.startsWith(`| ${id} `) && line.includes(strategy!.origin.reason)
    );
    assert.ok(row?.includes(strategy!.origin.sampler.replaceAll("_", " ")), `${id}: ${row}`);
  }
});
