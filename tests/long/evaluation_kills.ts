import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { WHOLE_CAMPAIGN } from "../fixtures/campaign.ts";
import { openStore } from "../../tracker/store/store.ts";
import { answers, baseline, killAt, killWhen, pare, taskFile } from "../fixtures/killed_study.ts";
import { journalsOf } from "../fixtures/stores/journals.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SAMPLES = 90;

/** Log-likelihoods, generations and windows, in this order, of long enough texts to be killed in. */
async function writeTasks(folder: string): Promise<string[]> {
  const text = await readFile(join(ROOT, "plugins/evaluation/data/tiny_text.jsonl"), "utf8");
  const words = text.trim().split("\n").map((line) => JSON.parse(line).text).join(" ").split(" ");
  const rows = Array.from({ length: SAMPLES }, (_, row) => words.slice(row * 60, row * 60 + 60))
    .map((part) => ({ prompt: part.slice(0, -1).join(" "), answer: part.at(-1) }));
  const data = join(folder, "rows.jsonl");
  await writeFile(data, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const data_file = new URL(`file://${data}`).href;
  const fields = { prompt: "string", answer: "string" };
  const definition = {
    output_type: "loglikelihood",
    doc_to_text: "{{prompt}}",
    doc_to_target: "{{' ' + answer}}",
    metric_list: [{ metric: "acc", aggregation: "mean", higher_is_better: true }],
    metadata: { version: 1, fields },
  };
  const generated = {
    ...definition,
    output_type: "generate_until",
    doc_to_target: "{{answer}}",
    generation_kwargs: { do_sample: false, max_gen_toks: 40, until: ["?"] },
    metric_list: [{ metric: "exact_match", aggregation: "mean", higher_is_better: true }],
  };
  const tasks = {
    a_scored: taskFile("a_scored", SAMPLES, { definition, data_file }),
    b_generated: taskFile("b_generated", SAMPLES, {
      definition: generated,
      data_file,
      metric: "exact_match,none",
    }),
    c_windows: taskFile("c_windows", SAMPLES, {
      definition: { metadata: { version: 1, fields, text_field: "prompt" } },
      data_file,
      scorers: [{ scorer: "token_loss" }],
      metric: "perplexity,none",
      reported_metric: "perplexity",
      direction: "minimize",
      window_tokens: 48,
    }),
  };
  return await Promise.all(
    Object.entries(tasks).map(async ([name, source]) => {
      await writeFile(join(folder, `${name}.ts`), source);
      return join(folder, `${name}.ts`);
    }),
  );
}

Deno.test("kill -9 in log-likelihoods, generations and windows: resume goes on at that batch", async () => {
  await shareDefaultEnvironment();
  const folder = await Deno.makeTempDir();
  try {
    const plugins = (await writeTasks(folder)).flatMap((path) => ["--plugin", path]);
    const run = [
      ...["run", "--model", "tiny", "--dataset", "killed", "--yes", "--max-trials", "1"],
      ...["--methods", "rtn", "--runtime", "transformers", ...plugins],
    ];
    const [whole, broken] = [join(folder, "whole"), join(folder, "broken")];
    const unbroken = await pare(whole, run);
    assert.equal(unbroken.exitCode, 0, unbroken.all);
    const expected = await baseline(whole);
    assert.equal(expected.samples.length, 3 * SAMPLES);

    // The first file's lines are the baseline's: of each task in turn, then of nobody else's.
    const [first] = await readdir(join(whole, "answers"));
    const total = (await readFile(join(whole, "answers", first!), "utf8")).split("\n").length - 1;
    console.log(`${total} batches of ${3 * SAMPLES} samples`);
    assert.ok(total >= 20, `too few to be killed between: ${total}`);
    let kept = 0;
    for (const [kill, share] of (WHOLE_CAMPAIGN ? [0.15, 0.5, 0.85] : [0.5]).entries()) {
      await killAt(broken, kill === 0 ? run : ["resume"], Math.round(share * total));
      const lines = (await answers(broken)).length;
      assert.ok(lines >= kept, "an answer was lost");
      kept = lines;
    }
    const resumed = await pare(broken, ["resume"]);
    assert.equal(resumed.exitCode, 0, resumed.all);
    const found = await baseline(broken);
    assert.deepEqual(found.samples, expected.samples, "the same scores to the last bit");
    assert.ok(found.reused.length > 0, "nothing was reused");
    console.log(`reused of asked, by task: ${found.reused.slice(0, 3).join("; ")}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Trials with a recipe, as the journal has them in the end. */
async function trialsIn(home: string) {
  await using store = await openStore(join(home, "store"), { write: false });
  const [study_id] = await store.studyIds();
  const records = await store.journalOf(study_id!);
  return records.flatMap((one) =>
    one.type === "trial_closed" && one.trial.strategy !== null ? [one.trial] : []
  );
}

const accuracyOf = (trials: Awaited<ReturnType<typeof trialsIn>>) =>
  Object.fromEntries(
    trials.filter(({ state }) => state === "completed").map(({ actions, measurements }) => [
      JSON.stringify(actions.map(({ method, params }) => [method, params])),
      measurements.filter(({ metric, task }) => metric === "accuracy" && task !== null)
        .map(({ fidelity, value }) => [fidelity, value]),
    ]),
  );

Deno.test("kill -9 with two trials under way: resume runs both, and their figures are one worker's", async () => {
  await shareDefaultEnvironment();
  const folder = await Deno.makeTempDir();
  try {
    const strategies = [32, 64].map((group_size) => ({
      actions: [{ agent: "quantization", method: "rtn", params: { bits: 4, group_size } }],
    }));
    const study = {
      ...{ model_name: "tiny", dataset: "tiny", runtime: "transformers", max_trials: 2 },
      ...{ samples: { proxy: 20, full: 60 }, strategies, rules: [], earlier_studies: false },
    };
    const path = join(folder, "study.json");
    await writeFile(path, JSON.stringify(study));
    const [one, two] = [join(folder, "one"), join(folder, "two")];
    const unbroken = await pare(one, ["run", path, "--yes"]);
    assert.equal(unbroken.exitCode, 0, unbroken.all);
    const run = ["run", path, "--yes", "--workers", "2"];
    await killWhen(two, run, async () => {
      const journal = await journalsOf(join(two, "store")).catch(() => "");
      const count = (type: string) => journal.split(`"type":"${type}"`).length - 1;
      return count("trial_opened") - count("trial_closed") >= 2 && count("artifact_written") >= 2;
    });
    const resumed = await pare(two, ["resume"]);
    assert.equal(resumed.exitCode, 0, resumed.all);
    const trials = await trialsIn(two);
    const ids = trials.map(({ trial_id }) => trial_id);
    assert.equal(new Set(ids).size, ids.length, "each is closed once");
    const killed = trials.filter(({ state }) => state === "cancelled");
    assert.ok(killed.length >= 2, "both were under way");
    assert.equal(trials.length - killed.length, 2);
    assert.deepEqual(accuracyOf(trials), accuracyOf(await trialsIn(one)));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
