/** What `pare show`, `compare` and `--json` print of a study: told from a view, without a process. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cachePaths, collectForms } from "../../../tracker/artifacts/form_garbage.ts";
import type { Trial } from "../../../core/mod.ts";
import { announce } from "../../../tracker/commands/output/study_said.ts";
import { besideText, costsBeside, trialsBeside } from "../../../tracker/show/json/beside.ts";
import { JSON_SHAPES } from "../../../tracker/show/json/json_shapes.ts";
import { jsonText, outputSchema } from "../../../tracker/show/json/print_json.ts";
import { cardText, trialCard } from "../../../tracker/commands/output/trial_card.ts";
import type { TrialsCompared } from "../../../tracker/show/view/compare_trials.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { reportBlocks } from "../../../tracker/show/reports_of_study.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { recommendedSize, sizeSentence } from "../../../tracker/show/view/size_words.ts";
import { run, samplesIn, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const round = (bits: number) => ({
  agent: "shrinking",
  method: "round",
  params: { bits, group_size: 32, targets: "linear" },
});
const w = world({
  max_trials: 3,
  strategies: [{ actions: [round(8)] }, { actions: [round(2)] }],
});
const { trials } = await run(w);
const view = await buildView("study", w.records, samplesIn(w));

Deno.test("a trial's card has its figures with intervals, its size beside what was given, what to do", () => {
  const card = trialCard(view, "study/t01");
  const text = cardText(view, card);
  assert.match(text, /^t01 {2}round/);
  assert.match(text, /accuracy +0\.\d+ ± 0\.\d+ +0\.\d+ +\d+/);
  assert.match(text, /accuracy against the original's, same samples: .* \[-?[\d.]+, \+[\d.]+\]/);
  assert.match(text, /t01 takes [\d.]+ MB/);
  assert.match(text, /limit on accuracy drop is met/);
  assert.match(text, /npx -y deno task pare compare study\/t00 study\/t01/);
  assert.ok(!/NaN|undefined|null|\[object/.test(text), text);
  const size = card.figures.find(({ metric }) => metric === "size_bytes")!;
  assert.equal(size.value, view.rows[1]!.size_bytes, "unrounded");
  assert.equal(size.baseline, view.rows[0]!.size_bytes);
});

Deno.test("the card of a trial that ended early says why, a running one and a baseline have theirs", () => {
  const stopped = trials.find(({ state }) => state === "stopped")!;
  assert.match(cardText(view, trialCard(view, stopped.trial_id)), /It ended early: gate \w+: \w+/);
  const base = trialCard(view, "study/t00");
  assert.deepEqual([base.ended, base.commands["compare"]], [null, undefined]);
  for (const { trial_id } of trials) {
    const text = jsonText("trial", trialCard(view, trial_id));
    assert.deepEqual(JSON.parse(text).kind, "trial");
  }
});

Deno.test("a card names an evaluation of the checkpoint alone where that may be a study's model", () => {
  const id = trials.find(({ trial_id }) => trial_id === "study/t01")!.artifact_ids.at(-1)!;
  const commandFor = (form: { form: string } | null, more: object = {}) => {
    const change = { part: "linear", effect: "rounds", form, least_cosine: null };
    const stored = { ...view.artifacts.get(id)!, changes: [change], ...more };
    const artifacts = new Map([...view.artifacts, [id, stored]]);
    return trialCard({ ...view, artifacts }, "study/t01").commands["evaluate"];
  };
  assert.match(commandFor(null)!, /^npx -y deno task pare evaluate --model \S+ --dataset /);
  assert.equal(commandFor({ form: "grid" }), undefined, "packed integers are no study's model");
  assert.equal(commandFor(null, { weights_id: "0".repeat(16) }), undefined, "nor is a setting");
});

Deno.test("two trials are compared in what they cost besides quality", () => {
  const [first, second] = [view.rows[0]!, view.rows[1]!];
  const costs = costsBeside(first, second);
  const size = costs.find(({ metric }) => metric === "size_bytes")!;
  assert.equal(size.ratio, second.size_bytes! / first.size_bytes!);
  assert.equal(costs[0]!.metric, "latency_ratio");
  const beside = trialsBeside(["study/t00", "study/t01"], { comparisons: [], refused: [] }, costs);
  assert.match(besideText(beside), /latency \/ own baseline +1\.00 +0\.\d+/);
  // Of other minutes, and told by that ratio already.
  const timed = { prefill_tokens_per_s: 900, decode_tokens_per_s: 70, prefill_ms_per_token: 1.1 };
  const fast = (row: typeof first, ratios: Record<string, number>, times: number) => ({
    ...row,
    ratios: { ...row.ratios, ...ratios },
    figures: {
      ...row.figures,
      ...Object.fromEntries(
        Object.entries(timed).map(([name, value]) => [
          name,
          { value: times * value, standard_error: null, n: 1 },
        ]),
      ),
    },
  });
  const named = (ratios: Record<string, number>) =>
    costsBeside(fast(first, ratios, 1), fast(second, ratios, 3)).map(({ metric }) => metric);
  const speeds = (names: readonly string[]) =>
    names.filter((name) => /prefill|decode/.test(name)).sort();
  assert.deepEqual(speeds(named({ prefill_ms_per_token: 1 })), ["prefill_ratio"]);
  assert.deepEqual(speeds(named({})), ["prefill_ms_per_token", "prefill_tokens_per_s"]);
});

Deno.test("a trial's line says what its own work took, not that it was timed again after hours", () => {
  const said: string[] = [];
  const trial = {
    ...view.trials[1]!,
    ...{ started_at: "2026-01-01T00:00:00.000Z", finished_at: "2026-01-01T05:00:00.000Z" },
    spans: [{ name: "speed", seconds: 31, library: false }],
  };
  announce((text) => said.push(text), {
    event: "record",
    record: { type: "trial_closed", at: trial.finished_at, trial },
  });
  assert.match(said.join("\n"), /\(31 s\)$/);
});

Deno.test("a trial's line has the cache of its contexts where that was counted, then its weights", () => {
  const said = (more: Trial["measurements"]) => {
    const lines: string[] = [];
    const trial = { ...trials[1]!, measurements: [...trials[1]!.measurements, ...more] };
    announce((text) => lines.push(text), {
      event: "record",
      record: { type: "trial_closed", at: trial.finished_at!, trial },
    });
    return lines.join("\n");
  };
  const size = trials[1]!.measurements.find(({ metric }) => metric === "size_bytes")!;
  assert.match(said([]), /, \d+(\.\d+)? [kM]?B \(/);
  const cache = { ...size, metric: "context_kv_bytes", value: 2_500_000 };
  assert.match(said([cache]), /, KV cache of a context 2\.5 MB, weights \d+(\.\d+)? [kM]?B \(/);
});

Deno.test("a distance has no ratio to the original's, which is its rounding alone", () => {
  const far = (row: typeof view.rows[number], value: number) => ({
    ...row,
    figures: { ...row.figures, kl: { value, standard_error: null, n: 8 } },
  });
  const [original, trial] = [far(view.rows[0]!, 8e-9), far(view.rows[1]!, 0.002)];
  const ratioOf = (...rows: [typeof trial, typeof trial]) =>
    costsBeside(...rows).find(({ metric }) => metric === "kl")!.ratio;
  assert.equal(ratioOf(original, trial), null);
  assert.equal(ratioOf(trial, far(trial, 0.004)), 2);
});

Deno.test("a trial has one name wherever a person reads: t01 with its recipe", () => {
  const page = renderMarkdown(reportBlocks(view));
  const told = [...view.reasons, ...view.next, page, cardText(view, trialCard(view, "study/t01"))];
  assert.match(view.reasons.join(" "), /\bt0\d\b/);
  for (const text of told) assert.doesNotMatch(text, /\bs0\d-/, text.slice(0, 400));
});

Deno.test("in a narrow terminal a comparison keeps its difference, whole", () => {
  const compared = {
    ...{ task: "hellaswag_of_a_long_name", metric: "accuracy", reference: 0.612, score: 0.588 },
    ...{ difference: -0.0243, interval: [-0.0412, -0.0074] as [number, number] },
    ...{ p_value: 0.0121, p_adjusted: 0.0364, n: 4000 },
  };
  const costs = costsBeside(view.rows[0]!, view.rows[1]!);
  const comparisons = [compared] as unknown as TrialsCompared["comparisons"];
  const both = trialsBeside(["study/t00", "study/t01"], { comparisons, refused: [] }, costs);
  const text = besideText(both, 60);
  assert.match(text, /difference \[95 %\]/);
  assert.match(text, /[-−]0\.0243 \[[-−]0\.0412, [-−]0\.00740\]/);
  assert.match(text, /^cost .*ratio$/m);
  assert.ok(text.split("\n").every((line) => line.length <= 60), text);
  const signed = { ...both, tasks: both.tasks.map((row) => ({ ...row, difference: 0.0243 })) };
  assert.match(besideText(signed, 60), /\+?0\.0243 \[[-−]0\.0412, [-−]0\.00740\]/);
});

Deno.test("every shape of --json is described, and what is no number is null", () => {
  assert.equal(outputSchema().anyOf!.length, Object.keys(JSON_SHAPES).length);
  const row = { ...view.rows[1]!, ratios: { latency_ms: NaN } };
  const [latency] = costsBeside(view.rows[0]!, row);
  assert.equal(latency!.ratio, null);
});

Deno.test("a size is told beside the file that was given, and that it grew is said", () => {
  const model = { ...view.facts.model, original_bytes: 98e6, fp16_bytes: 269e6 };
  const given = { facts: { ...view.facts, model } };
  assert.equal(
    sizeSentence(given, { name: "t04", size_bytes: 163e6 }),
    "The model as it was given takes 98.0 MB on disk, as 16-bit floats 269.0 MB. t04 takes " +
      "163.0 MB, 1.66 times what was given and 0.61 times the floats; it is larger than the file " +
      "that was given.",
  );
  const same = { facts: { ...view.facts, model: { ...model, original_bytes: 269e6 } } };
  assert.equal(sizeSentence(same), null);
  assert.equal(
    sizeSentence(same, { name: "t01", size_bytes: 134.5e6 }),
    "The model as it was given takes 269.0 MB. t01 takes 134.5 MB, 0.50 times that.",
  );
  assert.match(recommendedSize(view)!, /The model as it was given takes/);
});

Deno.test("a dry run says what would be removed, and removes nothing", () =>
  inDirectory(async (root) => {
    const form = join(root, "forms", "a");
    await Deno.mkdir(form, { recursive: true });
    await Deno.writeTextFile(join(form, "weights"), "12345");
    const said = await collectForms(cachePaths(root), 0, true);
    assert.deepEqual(said, { removed: [{ kind: "forms", key: "a", bytes: 5 }], total_bytes: 0 });
    assert.ok(existsSync(join(form, "weights")));
    assert.deepEqual(await collectForms(cachePaths(root), 0), said);
    assert.ok(!existsSync(form));
  }));
