/** kill -9 among a benchmark's programs: resume draws no program twice, nor another. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { answers, baseline, killAt, pare, taskFile } from "../../fixtures/killed_study.ts";
import { folderIn, numberIn, type RunFaults } from "./run_faults.ts";

const PROBLEMS = 8;
const PROGRAMS = 10;

/** Problems in HumanEval's form; what the tiny model writes is a comment in every second one. */
async function writeTask(folder: string): Promise<string> {
  const animals = ["fox", "wolf", "deer", "frog", "mouse"];
  const rows = Array.from({ length: PROBLEMS }, (_, row) => ({
    task_id: `Tiny/${row}`,
    prompt: `def number():\n    return ${row}\n${row % 2 === 0 ? "# " : ""}` +
      `what does the ${animals[row % 5]} eat ? the ${animals[row % 5]}`,
    test: `def check(candidate):\n    assert candidate() == ${row}\n`,
    entry_point: "number",
  }));
  const data = join(folder, "rows.jsonl");
  await writeFile(data, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const text = "string";
  const definition = {
    output_type: "generate_until",
    doc_to_text: "{{prompt}}",
    doc_to_target: "{{test}}",
    repeats: PROGRAMS,
    generation_kwargs: {
      do_sample: true,
      temperature: 1,
      top_p: 0.95,
      top_k: 0,
      max_gen_toks: 60,
      until: ["\n"],
    },
    metadata: {
      version: 1,
      fields: { task_id: text, prompt: text, test: text, entry_point: text },
    },
  };
  const path = join(folder, "programs.ts");
  const data_file = new URL(`file://${data}`).href;
  const scorers = [{ scorer: "programs_pass", params: { problem: "humaneval" } }];
  const more = { definition, data_file, scorers, metric: "pass@1,none", runs_code: true };
  await writeFile(path, taskFile("programs", PROBLEMS, more));
  return path;
}

/** What one of the kept answers is of: the programs of a problem, or their verdicts. */
function kinds(lines: readonly string[]): { drawn: number; judged: number } {
  const values = lines.map((line) => JSON.parse(line)[1]).filter(Array.isArray);
  const judged = values.filter(([first]) => typeof first[0] === "boolean").length;
  return { drawn: values.length - judged, judged };
}

/** Answers of the baseline: the programs of each problem, then their verdicts. */
const ANSWERS = 2 * PROBLEMS;

export const programKills: RunFaults = {
  name: "a benchmark of programs",
  points: Array.from({ length: ANSWERS - 1 }, (_, n) => `kill -9 at answer ${n + 1}`),
  async open(folder) {
    const plugin = await writeTask(folder);
    const run = [
      ...["run", "--model", "tiny", "--dataset", "killed", "--yes", "--max-trials", "1"],
      ...["--methods", "rtn", "--plugin", plugin],
    ];
    const whole = folderIn(folder, "whole");
    const unbroken = await pare(whole, run);
    assert.equal(unbroken.exitCode, 0, unbroken.all);
    const expected = await baseline(whole);
    assert.equal(expected.samples.length, PROBLEMS);
    assert.deepEqual(new Set(expected.samples.map(({ score }) => score)), new Set([0, 1]));
    const programs = expected.samples.flatMap(({ answer }) => JSON.parse(answer!));
    assert.ok(programs.length > 3 * PROBLEMS, "the programs of a problem differ");

    return async (point, broken) => {
      const lines = numberIn(point);
      await killAt(broken, run, lines);
      const before = await answers(broken);
      const resumed = await pare(broken, ["resume"]);
      assert.equal(resumed.exitCode, 0, resumed.all);
      const found = await baseline(broken);
      assert.deepEqual(found.samples, expected.samples, "the same programs, verdicts and scores");
      const after = await answers(broken);
      assert.equal(new Set(after).size, after.length, "a program was drawn twice");
      for (const line of before) assert.ok(after.includes(line), "what was drawn is kept");
      assert.deepEqual(kinds(after), kinds(await answers(whole)));
      const { drawn } = kinds(before);
      const [[reused, asked] = [0, 0]] = found.reused;
      assert.equal(reused, drawn * PROGRAMS, "what was drawn is drawn again");
      if (drawn > 0) assert.equal(asked, PROBLEMS * PROGRAMS);
    };
  },
};
