import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { writeFile } from "node:fs/promises";
import {
  type KeptAnswer,
  metricsOf,
  type Scorer,
  ScoreRow,
  scorerParams,
  wireScorer,
  type WireTask,
} from "../../core/mod.ts";
import type { BackendClient } from "../../python-backends/client.ts";
import { canonicalJson } from "../../tracker/artifacts/action_key.ts";
import { readKept } from "../../tracker/store/rows/kept_file.ts";
import { must } from "../tiny_model.ts";
import type { Step } from "./conformance.ts";

type Said = Partial<KeptAnswer>;

/** Answers as models give them that no scorer may stumble over, in the form that a scorer reads. */
function odd({ reads }: Scorer, { right }: Scorer["example"]): Said[] {
  if (reads.includes("windows")) {
    return [{ likelihoods: [-1e9], tokens: 1 }, { likelihoods: [0], tokens: 9 }];
  }
  if (reads.includes("choices")) {
    const other = (value: number) => right.likelihoods!.map(() => value);
    const greedy = right.likelihoods!.map(() => false);
    return [{ likelihoods: other(-1e9), greedy }, { likelihoods: other(0), greedy }];
  }
  return [
    "",
    " \n",
    "\u0000\ud83e\udd8a\u202e",
    "9".repeat(400),
    "\\boxed{".repeat(99),
    "x ".repeat(20_000),
  ]
    .map((text) => ({ texts: [text] }));
}

/** A line of a samples file, as an evaluation keeps an answer. */
function line(
  task: string,
  sample_id: number,
  hash: string,
  { reads }: Scorer,
  said: Said,
): string {
  const { texts = [], likelihoods = [], greedy = null, tokens = null } = said;
  const answer = reads.includes("programs")
    ? JSON.stringify(texts.map((text) => ({ times: 1, answer: text })))
    : texts[0] ?? null;
  return JSON.stringify({
    ...{ task, sample_id: String(sample_id), sample_hash: hash, prompt_hash: "p", score: 0 },
    ...{ answer, answer_length: answer === null ? null : [...answer].length, gold: null, greedy },
    choice_log_likelihoods: reads.includes("choices") ? likelihoods : null,
    log_likelihood: reads.includes("windows") ? likelihoods[0] : null,
    tokens,
  });
}

/** What the worker calls equal rows of a file: a repeated one takes the number of its repetition in. */
function hashesOf(row: Scorer["example"]["row"], count: number): string[] {
  const hash = (value: unknown) =>
    createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 16);
  const plain = hash(row);
  return Array.from({ length: count }, (_, i) => i === 0 ? plain : hash([plain, i]));
}

/**
 * What every scorer must keep, in steps: it says what it is, scores a right answer best and a wrong one
 * worst, bears any answer, gives the same score twice, and gives the metrics that it declares. `path`: its
 * file; `judge`: a server that calls every right answer right, for scorers that ask one.
 */
export async function scorerConformance(
  scorer: Scorer,
  path: string,
  { client, folder, judge }: { client: BackendClient; folder: string; judge?: string },
  step: Step,
): Promise<void> {
  const { name, example } = scorer;
  const params = scorerParams(scorer, example.params ?? {});
  const reported = metricsOf(scorer, params, "accuracy")[0]!.metric;
  const declared = metricsOf(scorer, params, reported);
  await step("it says what it is, and describes every knob", () => {
    assert.equal(`${name}.ts`, basename(path));
    assert.match(scorer.summary, /^[A-Z].*[^.]$/, "a summary is one line without a full stop");
    assert.ok(scorer.version.length > 0 && scorer.reads.length > 0 && declared.length > 0);
    for (const [knob, schema] of Object.entries(scorer.params.shape)) {
      const described = schema as { description?: string };
      assert.ok((described.description ?? "").length > 3, `${knob} has no description`);
    }
    assert.throws(() => scorerParams(scorer, { ...params, nobodys_knob: 1 }), /nobodys_knob/);
  });
  const answers = [example.right, example.wrong, example.right, ...odd(scorer, example)];
  const task = `${name}_example`;
  const data_path = join(folder, `${task}.rows.jsonl`);
  await writeFile(data_path, answers.map(() => `${JSON.stringify(example.row)}\n`).join(""));
  const isText = scorer.reads.includes("windows");
  const wire: WireTask = {
    ...{
      task,
      task_version: "1",
      origin: "plugin",
      lm_eval_task: null,
      data_file: null,
      data_path,
    },
    scorers: [wireScorer(scorer, { params }, reported)],
    definition: { ...example.definition },
    few_shot: 0,
    metric: example.metric ?? "exact_match,none",
    ...{ reported_metric: reported, unit: "1", direction: "maximize" },
    window_tokens: isText ? 8 : null,
  };
  const scores = async (said: readonly Said[], hashes: readonly string[]) => {
    const samples_path = join(folder, `${task}.jsonl`);
    const lines = said.map((one, i) => line(task, i, hashes[i] ?? "h", scorer, one));
    await writeFile(samples_path, lines.join("\n"));
    const outcome = await client.run(
      {
        call: "score",
        task: wire,
        scorers: wire.scorers,
        files: [{ samples_path, fidelity: "full", output_name: task }],
        answers_path: null,
        allow_unsafe_code: false,
        ...(judge === undefined ? {} : {
          judge: { base_url: judge, model: "judge", tokenizer_dir: null, api: "auto" },
        }),
      } as Parameters<typeof client.run>[0] & { call: "score" },
      { environment: "default" },
    );
    // Programs that a model writes are run in a sandbox alone: not every machine has one.
    if (!outcome.ok && scorer.runs_code && outcome.failure.kind === "missing_environment") {
      return null;
    }
    const result = must(outcome);
    const [scored] = result.files[0]!;
    return {
      scored: scored!,
      rows: await readKept(
        join(folder, scored!.scores.name),
        scored!.scores.sha256,
        ScoreRow,
        "score",
      ),
    };
  };
  await step("right is best, wrong is worst, any answer is borne, twice is the same", async () => {
    const made = await scores(answers, hashesOf(example.row, answers.length));
    if (made === null) return;
    const { rows, scored } = made;
    const own = rows.filter(({ metric }) => metric === declared[0]!.metric);
    assert.equal(own.length, answers.length);
    const [right, wrong, again] = own.map(({ score }) => score);
    assert.equal(again, right);
    const [least, largest] = declared[0]!.range;
    const better = declared[0]!.direction === "maximize" ? largest : least;
    const worse = declared[0]!.direction === "maximize" ? least : largest;
    if (better !== null && !isText) assert.equal(right, better);
    if (worse !== null) assert.equal(wrong, worse);
    const sign = declared[0]!.direction === "maximize" ? 1 : -1;
    assert.ok(sign * right! > sign * wrong!, `${right} is no better than ${wrong}`);
    for (const { metric, range } of declared) {
      for (const { score, why, sample_id } of rows.filter((row) => row.metric === metric)) {
        assert.ok(
          score !== null || (why ?? "").length > 5,
          `${sample_id} has neither score nor why`,
        );
        assert.ok(score === null || score >= (range[0] ?? -Infinity), `${sample_id}: ${score}`);
        assert.ok(score === null || score <= (range[1] ?? Infinity), `${sample_id}: ${score}`);
      }
    }
    const given = new Set(rows.map(({ metric }) => metric));
    assert.deepEqual([...given].sort(), declared.map(({ metric }) => metric).sort());
    const whole = scored.measurements.filter(({ slice }) => slice === null);
    assert.deepEqual(
      whole.map(({ metric, unit, direction }) => ({ metric, unit, direction })),
      declared.map(({ metric, unit, direction }) => ({ metric, unit, direction })),
    );
  });
}
