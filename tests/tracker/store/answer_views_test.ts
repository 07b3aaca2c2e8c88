/** Views that answer a person's question in one line, held to what the core itself finds. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { compareQuality } from "../../../core/evidence/quality.ts";
import { differencesOf, pairBySample, pairedInterval } from "../../../core/evidence/statistics.ts";
import { meanBy, sampleWeights } from "../../../core/evidence/strata.ts";
import type { JournalRecord, SampleResult } from "../../../core/mod.ts";
import { toJson } from "../../../tracker/store/journal/record_line.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const round = (bits: number, targets: string) => ({
  agent: "shrinking",
  method: "round",
  params: { bits, group_size: 32, targets },
});
const w = world({
  max_trials: 7,
  strategies: [
    { actions: [round(8, "linear")] },
    { actions: [round(8, "linear"), round(8, "embedding")] },
    { actions: [round(4, "linear")] },
    { actions: [round(2, "linear")] },
  ],
});
const { trials, recommendation, spec } = await run(w);

/** The words as if drawn by strata of unequal size, one of them of a single sample. */
const stratified = (sample: SampleResult): SampleResult => {
  if (sample.task !== "words") return sample;
  const i = Number(sample.sample_id);
  const [stratum, stratum_rows] = i === 0 ? ["rare", 30] : i % 3 === 0 ? ["small", 50] : ["b", 900];
  return { ...sample, stratum, stratum_rows: Number(stratum_rows) };
};
/** One text's score is no number. */
const broken = (sample: SampleResult): SampleResult =>
  sample.sample_hash === "words_text-1" ? { ...sample, score: NaN } : sample;
const plain = (sample: SampleResult) => sample;

/** The samples of a trial's full evaluation; none where it has none. */
function samplesOf(trial_id: string, drawn: typeof plain): SampleResult[] {
  const found = w.stored.find((one) => one.trial_id === trial_id && one.fidelity === "full");
  return (found?.evaluation.samples ?? []).map(drawn);
}

/** The study's records under another name, each full evaluation with its file of samples. */
async function writtenRecords(root: string, study_id: string, drawn: typeof plain) {
  const renamed = JSON.parse(
    JSON.stringify(w.records).replaceAll('"study/', `"${study_id}/`)
      .replaceAll('"study_id":"study"', `"study_id":"${study_id}"`),
  ) as JournalRecord[];
  const records: JournalRecord[] = [];
  for (const record of renamed) {
    const samples = record.type === "trial_closed"
      ? samplesOf(record.trial.trial_id.replace(study_id, "study"), drawn)
      : [];
    if (record.type === "trial_closed" && samples.length > 0) {
      const { trial_id } = record.trial;
      const path = `samples/${trial_id}-full.jsonl`;
      const text = samples.map((one) => toJson(one)).join("\n") + "\n";
      await Deno.mkdir(dirname(join(root, path)), { recursive: true });
      await Deno.writeTextFile(join(root, path), text);
      records.push({
        ...{ type: "samples_written", at: record.at, study_id, trial_id, fidelity: "full", path },
        rows: samples.length,
        sha256: createHash("sha256").update(text).digest("hex"),
        protocol: { words: "full-1", words_text: "full-1" },
      });
    }
    records.push(record);
  }
  return records;
}

const near = (found: unknown, wanted: number, what: string) =>
  assert.ok(Math.abs(Number(found) - wanted) < 1e-9, `${what}: ${found} is not ${wanted}`);

await inDirectory(async (root) => {
  await using store = await openStore(root, { write: true });
  const all = [["plain", plain], ["strata", stratified], ["broken", broken]] as const;
  for (const [name, drawn] of all) {
    const records = await writtenRecords(root, name, drawn);
    await Promise.all(records.map((record) => store.record(record)));
  }
  await store.flush();
  const ask = async (sql: string) => (await store.query(sql)).rows;
  const views = Object.fromEntries(
    await Promise.all(
      ["paired_differences", "recommended", "leaderboard", "failures", "ancestry"].map(
        async (view) => [view, await ask(`FROM ${view}`)] as const,
      ),
    ),
  );
  const [compared] = await ask(`FROM study_comparison
    WHERE first_study_id = 'plain' AND second_study_id = 'strata'`);
  const importance = await ask(`FROM knob_importance WHERE study_id = 'plain' AND knob = 'bits'
    AND fidelity = 'full' AND metric = 'size_bytes'`);

  const evaluated = trials.filter(({ trial_id, number }) =>
    number > 0 && samplesOf(trial_id, plain).length > 0
  );
  for (const [name, drawn] of [["plain", plain], ["strata", stratified]] as const) {
    Deno.test(`paired_differences has the core's differences and intervals: ${name}`, () => {
      assert.ok(evaluated.length > 2);
      const rows = views["paired_differences"]!.filter((row) => row["study_id"] === name);
      assert.equal(rows.filter(({ task }) => task === "words").length, evaluated.length);
      const reference = { measurements: [], samples: samplesOf("study/t00", drawn), protocol: {} };
      for (const { trial_id, measurements } of evaluated) {
        const full = measurements.filter(({ fidelity }) => fidelity === "full");
        const other = { ...reference, measurements: full, samples: samplesOf(trial_id, drawn) };
        const of = (task: string | null, metric: string) =>
          rows.find((row) =>
            row["trial_id"] === trial_id.replace("study", name) && row["task"] === task &&
            row["metric"] === metric
          )!;
        const wanted = compareQuality(spec, "full", reference, other)!;
        const found = of(null, wanted.metric);
        near(found["difference"], -wanted.drop, trial_id);
        near(found["difference_low"], -wanted.interval![1], trial_id);
        near(found["difference_high"], -wanted.interval![0], trial_id);
        const texts = pairBySample(
          reference.samples.filter(({ task }) => task === "words_text"),
          other.samples.filter(({ task }) => task === "words_text"),
        ).pairs;
        const { centre, half_width, n } = pairedInterval(texts)!;
        const text = of("words_text", "perplexity");
        assert.equal(Number(text["n"]), n);
        near(text["difference"], Math.expm1(centre), `${trial_id}, perplexity`);
        near(text["difference_high"], Math.expm1(centre + half_width), `${trial_id}, perplexity`);
        const words = pairBySample(
          reference.samples.filter(({ task }) => task === "words"),
          other.samples.filter(({ task }) => task === "words"),
        ).pairs;
        near(
          of("words", "accuracy")["difference"],
          meanBy(differencesOf(words), sampleWeights(words)),
          "",
        );
        assert.equal(
          Number(of("words", "accuracy")["losses"]),
          words.filter((pair) => pair.score < pair.reference).length,
        );
        // A text's negative log-likelihood that rises is a loss.
        assert.equal(
          Number(text["losses"]),
          texts.filter((pair) => pair.score > pair.reference).length,
        );
      }
    });
  }

  Deno.test("a score that is no number leaves its task without a difference, and the others theirs", () => {
    const rows = views["paired_differences"]!.filter((row) => row["study_id"] === "broken");
    const of = (task: string) => rows.filter((row) => row["task"] === task);
    assert.equal(of("words").length, evaluated.length);
    assert.ok(of("words").every((row) => row["difference_low"] !== null));
    assert.ok(of("words_text").length > 0);
    assert.ok(of("words_text").every((row) => row["difference"] === null));
  });

  Deno.test("recommended is what the study recommends, one row per study; the leaderboard marks it", () => {
    const rows = views["recommended"]!.filter((row) => row["study_id"] === "plain");
    assert.equal(rows.length, 1);
    const [row] = rows;
    assert.equal(row!["trial_id"], recommendation!.trial_id.replace("study", "plain"));
    assert.equal(row!["decision"], "recommended");
    assert.match(String(row!["recipe"]), /^round\(bits=\d, .*group_size=32/);
    assert.match(
      String(row!["because"]),
      /best reward of those: \d\.\d{3} against -?\d\.\d{3} of the original/,
    );
    assert.ok(Number(row!["difference_low"]) <= Number(row!["difference"]));
    const marked = views["leaderboard"]!.filter((one) => one["recommended"]);
    assert.deepEqual(
      marked.map((one) => one["trial_id"]).sort(),
      views["recommended"]!.map((one) => one["trial_id"]).sort(),
    );
    assert.equal(Object.keys(marked[0]!).length, 12);
  });

  Deno.test("failures has one row per trial that did not complete, gates with their evidence", () => {
    const ended = trials.filter(({ state }) => state !== "completed");
    const rows = views["failures"]!.filter((row) => row["study_id"] === "plain");
    assert.deepEqual(
      rows.map(({ trial_id }) => trial_id).sort(),
      ended.map(({ trial_id }) => trial_id.replace("study", "plain")).sort(),
    );
    const stopped = rows.find(({ state }) => state === "stopped")!;
    const gate = ended.find(({ state }) => state === "stopped")!.gates.at(-1)!;
    assert.deepEqual(
      [stopped["gate"], stopped["value"], stopped["threshold"], stopped["reason"]],
      [gate.gate, gate.value, gate.threshold, gate.reason],
    );
    assert.ok(String(stopped["what_to_do"]).length > 5);
    const [, low, high] = /interval ([\d.-]+) to ([\d.-]+)/.exec(gate.reason)!;
    assert.deepEqual([stopped["interval_low"], stopped["interval_high"]], [low, high].map(Number));
  });

  Deno.test("ancestry has every ancestor with its distance and the actions between", () => {
    const twice = trials.find(({ actions }) => actions.length === 2)!;
    const rows = views["ancestry"]!.filter((row) =>
      row["artifact_id"] === twice.artifact_ids.at(-1)
    );
    assert.deepEqual(
      rows.map(({ depth, actions }) => [Number(depth), actions]).sort(),
      [[1, "round"], [2, "round + round"]],
    );
    assert.ok(rows.some(({ ancestor_id }) => ancestor_id === "base"));
  });

  Deno.test("study_comparison says that the same study run twice is the same", () => {
    assert.deepEqual(
      ["first_study_id", "second_study_id", "same_model", "same_dataset", "same_protocol"]
        .map((column) => compared![column]),
      ["plain", "strata", true, true, true],
    );
    assert.equal(compared!["first_best_reward"], compared!["second_best_reward"]);
    assert.equal(Number(compared!["first_trials"]), trials.length);
  });

  Deno.test("knob_importance compares only trials that differ in that knob alone", () => {
    const size = (bits: number) =>
      trials.find(({ actions, fidelity }) =>
        actions.length === 1 && actions[0]!.params["bits"] === bits && fidelity !== null
      )?.measurements.find(({ metric }) => metric === "size_bytes")?.value;
    const sizes = [2, 4, 8].map(size).filter((one) => one !== undefined);
    const pairs = sizes.flatMap((low, i) => sizes.slice(i + 1).map((high) => high - low));
    const row = importance.find(({ method }) => method === "round")!;
    assert.equal(pairs.length, 3);
    assert.equal(Number(row["pairs"]), pairs.length);
    near(row["effect"], pairs.reduce((sum, one) => sum + one, 0) / pairs.length, "effect");
    assert.equal(row["importance"], row["effect"], "more bits are more bytes, in every pair");
    assert.ok(Number(row["importance_low"]) < Number(row["importance"]));
  });
});
