/** One metric has one scale and one word, whoever is asked: perplexity, which samples are the logarithm of. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import {
  type JournalRecord,
  METRICS,
  type SampleResult,
  scaleOf,
  type Trial,
} from "../../../core/mod.ts";
import { comparePage } from "../../../tracker/board/pages/compare_page.ts";
import { besideTrials } from "../../../tracker/show/json/beside_trials.ts";
import { besideText } from "../../../tracker/show/json/beside.ts";
import { cardText, trialCard } from "../../../tracker/commands/output/trial_card.ts";
import { comparisonBlocks } from "../../../tracker/show/reports/comparison_blocks.ts";
import { latexTables } from "../../../tracker/show/reports/formats/latex_tables.ts";
import { modelCard } from "../../../tracker/show/reports/formats/model_card.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { compareAny } from "../../../tracker/show/view/compare_any.ts";
import { differenceText } from "../../../tracker/show/view/difference_text.ts";
import { number } from "../../../tracker/show/view/number_text.ts";
import { figuresOf } from "../../../tracker/show/view/trial_figures.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, measurement, strategy, studyOpened, trial } from "../../fixtures/stores/records.ts";

const STUDY = "text";
const TASK = "prose";
/** Nats per token of twelve windows. */
const BEFORE = [3.4, 3.9, 3.6, 3.8, 3.7, 3.5, 4.0, 3.3, 3.75, 3.65, 3.85, 3.6];
const AFTER = BEFORE.map((nats, place) => nats + [0.06, 0.11, 0.02, 0.09][place % 4]!);
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
const [FIRST, SECOND] = [Math.exp(mean(BEFORE)), Math.exp(mean(AFTER))];
const RISE = SECOND / FIRST - 1;

async function recordTrial(store: Store, root: string, place: number, scores: readonly number[]) {
  const trial_id = `${STUDY}/t0${place}`;
  const rows = scores.map((score, at): SampleResult => ({
    ...{ task: TASK, score, sample_id: String(at), sample_hash: `${at}`, prompt_hash: "" },
    ...{ answer: null, gold: null, log_likelihood: null },
  }));
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  const path = `samples/${STUDY}/t0${place}-full.jsonl`;
  await Deno.mkdir(dirname(join(root, path)), { recursive: true });
  await Deno.writeTextFile(join(root, path), text);
  const own = { at: AT, study_id: STUDY, trial_id };
  const figure = (task: string | null) =>
    measurement("perplexity", Math.exp(mean(scores)), {
      ...{ n: scores.length, task, task_version: task && "1", standard_error: 0.5 },
    });
  const closed: Trial = {
    ...trial({ number: place, accuracy: 0, latency_ms: 10, size_bytes: 100, study_id: STUDY }),
    measurements: [
      figure(TASK),
      figure(null),
      measurement("size_bytes", place === 0 ? 200 : 100, { unit: "bytes" }),
    ],
    constraints: [{
      ...{ constraint: "max_perplexity_rise", threshold: 0.1, value: place === 0 ? 0 : RISE },
      ...{ interval: null, verdict: "met", samples_to_decide: null },
    }],
  };
  const records: JournalRecord[] = [
    {
      ...{ type: "trial_opened", ...own, number: place },
      strategy: place === 0 ? null : strategy(4),
    },
    {
      ...{ type: "samples_written", ...own, fidelity: "full", path, rows: rows.length },
      sha256: createHash("sha256").update(text).digest("hex"),
      ...{ protocol: { [TASK]: "p" }, protocol_parts: { [TASK]: { task_version: "1" } } },
    },
    { type: "measured", ...own, measurements: closed.measurements },
    { type: "trial_closed", at: AT, trial: closed },
  ];
  for (const record of records) await store.record(record);
}

async function recordStudy(store: Store, root: string): Promise<void> {
  const opened = studyOpened(STUDY);
  assert.ok(opened.type === "study_opened");
  const { spec } = opened;
  const [plan] = spec.tasks;
  await store.record({
    ...opened,
    spec: {
      ...spec,
      constraints: { ...spec.constraints, max_latency_ms: null },
      objectives: [
        { metric: "perplexity", direction: "minimize", unit: "exp(nats/token)" },
        { metric: "size_bytes", direction: "minimize", unit: "bytes" },
      ],
      tasks: [{ ...plan!, task: TASK, metric: "perplexity", available_samples: 100 }],
      rungs: [{ fidelity: "full", samples: { [TASK]: null } }],
    },
  });
  await recordTrial(store, root, 0, BEFORE);
  await recordTrial(store, root, 1, AFTER);
  await store.flush();
}

const near = (found: unknown, wanted: number, what: string) =>
  assert.ok(Math.abs(Number(found) - wanted) < 1e-9, `${what}: ${found} against ${wanted}`);

Deno.test("scaleOf() is declared with the metric, and its functions undo each other", () => {
  assert.deepEqual(METRICS.filter(({ name }) => scaleOf(name).relative).map(({ name }) => name), [
    "perplexity",
  ]);
  for (const { name } of METRICS) {
    const scale = scaleOf(name);
    near(scale.figure(scale.mean(0.4)), 0.4, name);
    near(scale.difference(scale.meanDifference(0.3)), 0.3, name);
    // What a mean difference of samples is, two figures of such means are.
    near(scale.between(scale.figure(0.7), scale.figure(0.5)), scale.difference(0.2), name);
  }
});

Deno.test("perplexity is perplexity and its difference relative on every surface", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await recordStudy(store, root);
    const ids = [`${STUDY}/t00`, `${STUDY}/t01`] as const;
    const view = await viewStudy(store, STUDY);
    const [, row] = view.rows;
    const told = row!.difference!;
    near(told.value, RISE, "a trial's row");
    const interval = told.interval!;
    assert.ok(interval[0] < RISE && RISE < interval[1]);
    const said = differenceText(told);
    assert.match(said, /^\+[\d.]+ % \[\+[\d.]+ %, \+[\d.]+ %\]$/);
    const hold = (found: Record<string, unknown>, names: readonly string[], what: string) => {
      const wanted = [RISE, ...interval];
      names.forEach((name, place) => near(found[name], wanted[place]!, `${what}, ${name}`));
    };
    const shows = (text: string, what: string) => {
      for (const part of [number(FIRST), number(SECOND), "perplexity", said]) {
        assert.ok(text.includes(part), `${what} lacks ${part}:\n${text}`);
      }
      for (const nats of [mean(BEFORE), mean(AFTER)]) {
        assert.ok(!text.includes(` ${number(nats)} `), `${what} has nats: ${number(nats)}`);
      }
    };

    // The command line, as text and as JSON, and one trial's card.
    const beside = await besideTrials(store, ...ids);
    const [task] = beside.tasks;
    near(task!.first, FIRST, "JSON");
    near(task!.second, SECOND, "JSON");
    hold(
      { difference: task!.difference, low: task!.interval![0], high: task!.interval![1] },
      ["difference", "low", "high"],
      "pare compare --json",
    );
    shows(besideText(beside), "pare compare");
    const card = trialCard(view, ids[1]);
    near(card.quality_difference!.value, RISE, "pare show --json");
    assert.equal(card.quality_difference!.metric, "perplexity");
    assert.ok(cardText(view, card).includes(said), cardText(view, card));
    assert.match(cardText(view, card), /rise of perplexity is met: 7.2\d against 10.0 %/);

    // A notebook.
    const { rows: [compared] } = await compareAny(store, ids, (id) => viewStudy(store, id));
    assert.ok(compared !== undefined && "first" in compared);
    near(compared.first, FIRST, "lab.compare");
    hold({ ...compared }, ["difference", "low", "high"], "lab.compare");
    const columns = ["", "_low", "_high"].map((end) => `perplexity_difference${end}`);
    hold(figuresOf(view, row!), columns, "study.trials()");

    // The board.
    const trials = [{ measurements: [], actions: [] }, { measurements: [], actions: [] }] as const;
    const samples = { rows: [], total: 0, page: 1, page_size: 50 };
    const page = comparePage({ first: ids[0], second: ids[1] }, {
      beside,
      trials: trials as never,
      samples,
      state: { which: "changed", task: "" },
    });
    shows(String(await page).replaceAll(/<[^>]+>/g, " "), "the board's Compare");

    // The report, the card beside the checkpoint, and the table for a paper.
    shows(renderMarkdown(comparisonBlocks(view)), "the report");
    const readme = modelCard({ ...view, recommended: ids[1] })!;
    shows(readme.slice(readme.lastIndexOf("---")), "the model card's table");
    assert.ok(readme.includes(`value: ${SECOND}`), "the model card's metadata");
    assert.match(latexTables(view), /\$\+7.2\d\\,\\%\$\$\^\{\*\}\$/);

    // SQL.
    const { rows: paired } = await store.query(
      "SELECT metric, difference, difference_low, difference_high, losses FROM paired_differences",
    );
    assert.equal(paired.length, 2, "the task and all together");
    for (const one of paired) {
      hold(one, ["difference", "difference_low", "difference_high"], "paired_differences");
      assert.deepEqual([one["metric"], one["losses"]], ["perplexity", 12]);
    }
    const { rows: [windows] } = await store.query(
      `
      SELECT exp(avg(ln(reference_score))) AS first, exp(avg(ln(1 + difference))) - 1 AS rise,
        count(*) FILTER (won)::INT AS won, any_value(metric) AS metric
      FROM sample_pairs($a, $b)`,
      { params: { a: ids[0], b: ids[1] } },
    );
    near(windows!["first"], FIRST, "sample_pairs");
    near(windows!["rise"], RISE, "sample_pairs");
    assert.deepEqual([windows!["won"], windows!["metric"]], [0, "perplexity"]);
    const { rows: [kept] } = await store.query(
      "SELECT degradation FROM retention WHERE metric = 'perplexity' AND task IS NULL",
    );
    near(kept!["degradation"], RISE, "retention");
  }));
