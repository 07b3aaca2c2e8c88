/** A staged run with real workers, killed again and again: the ledger of an unbroken one. */
import { journalsOf } from "../fixtures/stores/journals.ts";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { StageDecision } from "../../core/mod.ts";
import { comparable } from "../core/stages/stages_world.ts";
import { WHOLE_CAMPAIGN } from "../fixtures/campaign.ts";
import { killWhen, pare } from "../fixtures/killed_study.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const rtn = (bits: number) => ({
  agent: "quantization",
  method: "rtn",
  params: { bits, group_size: 32 },
});

/** One that passes, one that fails and is tried again, one that is rolled back. */
const DOCUMENT = {
  model_name: "tiny",
  dataset: "tiny",
  core: ["tiny_words"],
  critical: { core: 0, expert_drop: 1 },
  samples: { first: 50, most: 200 },
  stages: [
    { name: "first", actions: [rtn(8)] },
    {
      name: "second",
      actions: [rtn(2)],
      onto: "original",
      adjustments: [{ below: 0.95, set: { bits: 4 } }],
    },
    { name: "third", actions: [rtn(2)], onto: "original" },
  ],
};

async function ledgerOf(home: string): Promise<StageDecision[]> {
  const shown = await pare(home, ["stages", "show", "--json"]);
  assert.equal(shown.exitCode, 0, shown.all);
  return JSON.parse(shown.stdout);
}

const journal = async (home: string) => (await journalsOf(join(home, "store"))).split("\n");

Deno.test("kill -9 of a staged run at moments all over it: the same ledger, the same bytes shipped", async () => {
  await shareDefaultEnvironment();
  const folder = temporaryFolder("staged-kills");
  const file = join(folder, "study.yaml");
  await writeFile(file, stringify(DOCUMENT));
  const [whole, broken] = [join(folder, "whole"), join(folder, "broken")];
  const run = ["stages", file, "--yes"];
  const unbroken = await pare(whole, run);
  assert.equal(unbroken.exitCode, 0, unbroken.all);
  const expected = await ledgerOf(whole);
  const attempts = expected.filter(({ about }) => about === "attempt");
  assert.ok(attempts.some(({ decision }) => decision === "advance"), unbroken.all);
  assert.ok(attempts.some(({ decision }) => decision === "retry"), unbroken.all);

  const lines = (await journal(whole)).length;
  const moments: number[] = [];
  for (const share of WHOLE_CAMPAIGN ? [0.2, 0.5, 0.8] : [0.5]) {
    // What is taken up again writes a little more than an unbroken run: a share of that one's lines
    // is reached in any case.
    const words = moments.length === 0 ? run : ["resume"];
    await killWhen(broken, words, async () => (await journal(broken)).length >= share * lines);
    moments.push((await journal(broken)).length);
  }
  console.log(`of ${lines} lines; killed at ${moments.join(", ")}`);
  const resumed = await pare(broken, ["resume"]);
  assert.equal(resumed.exitCode, 0, resumed.all);
  const found = await ledgerOf(broken);
  assert.deepEqual(comparable(found), comparable(expected));
  const shipped = (rows: StageDecision[]) => rows.find(({ decision }) => decision === "ship")!;
  assert.equal(shipped(found).to_artifact, shipped(expected).to_artifact);
  assert.match(shipped(found).reason, /its bytes those that were measured/);
});
