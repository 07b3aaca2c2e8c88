/** kill -9 while prompts are read for all cells of a sweep: resume says the same to each. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sampleReader } from "../../../tracker/show/view/view_study.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { answers, killAt, pare } from "../../fixtures/killed_study.ts";
import { folderIn, numberIn, type RunFaults } from "./run_faults.ts";

const WORDS = ["the red fox", "lives in the den", "a grey owl", "sleeps near the pond"];

/** Prompts of about a hundred words, each of its own. */
function rows(): string {
  const words = (seed: number) =>
    Array.from({ length: 30 }, (_, n) => WORDS[(n * n + seed * (n + 1)) % WORDS.length]).join(" ");
  return Array.from({ length: 8 }, (_, n) => ({ prompt: words(n), answer: WORDS[n % 4] }))
    .map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** What each recipe of a home's only study said to each sample. */
async function saidIn(home: string) {
  await using store = await openStore(join(home, "store"), { write: false });
  const [study_id] = await store.studyIds();
  const records = await store.journalOf(study_id!);
  const read = sampleReader(store.paths.root, records);
  const said: Record<string, unknown> = {};
  for (const record of records) {
    if (record.type !== "trial_closed" || record.trial.state !== "completed") continue;
    const { trial_id, actions } = record.trial;
    const recipe = JSON.stringify(actions.map(({ method, params }) => [method, params]));
    said[recipe] = (await read(trial_id))!.map((one) => ({ ...one, seconds: null }));
  }
  return said;
}

const SHARES = [10, 20, 30, 40, 50, 60, 70, 80, 90];

export const sweepKills: RunFaults = {
  name: "a sweep",
  points: SHARES.map((share) => `kill -9 at ${share} % of its answers`),
  async open(folder) {
    const dataset = join(folder, "rows.jsonl");
    await writeFile(dataset, rows());
    const run = [
      ...["sweep", "--model", "tiny", "--dataset", dataset, "--yes"],
      ...["--methods", "streaming,snapkv", "--budgets", "0.25,32"],
    ];
    const whole = folderIn(folder, "whole");
    const unbroken = await pare(whole, run);
    assert.equal(unbroken.exitCode, 0, unbroken.all);
    const expected = await saidIn(whole);
    assert.equal(Object.keys(expected).length, 1 + 4);
    const total = (await answers(whole)).length;
    return async (point, broken) => {
      await killAt(broken, run, Math.round(numberIn(point) / 100 * total));
      const resumed = await pare(broken, ["resume"]);
      assert.equal(resumed.exitCode, 0, resumed.all);
      assert.deepEqual(await saidIn(broken), expected);
    };
  },
};
