/** Checkpoints that were made elsewhere, through every real process: as trials, added, judged, run again. */
import assert from "node:assert/strict";
import { copyFile, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { runPare } from "../fixtures/programs.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const WORDS = ["the red fox", "the old owl", "a grey hare", "the young wolf"];
const rows = Array.from(
  { length: 24 },
  (_, i) => `${JSON.stringify({ prompt: `${i} ${WORDS[i % 4]}`, answer: "den" })}\n`,
);
const rtn = (bits: number) => ({
  actions: [{
    agent: "quantization",
    method: "rtn",
    params: { bits, group_size: 32, symmetric: true },
  }],
});

async function pare(...words: string[]) {
  const { exitCode, stdout, stderr } = await runPare(words);
  return { exitCode, said: `${stdout}\n${stderr}` };
}

Deno.test("downloads are trials: measured beside pare's own, added, and run again", async (t) => {
  const folder = temporaryFolder("elsewhere-study");
  const dataset = join(folder, "own.jsonl");
  await writeFile(dataset, rows.join(""));
  const store = join(folder, "store");
  const files = join(folder, "files");
  await mkdir(files);
  // Its own speed is not the question here, and this runtime needs no graph and no file of its own.
  const common = { model_name: "tiny", dataset, samples: { full: 24 }, runtime: "transformers" };
  // What another tool might have made: pare's own integers in that tool's layout.
  await using lab = await openLab({ store });
  const study = await lab.open({ ...common, max_trials: 2, strategies: [rtn(4), rtn(8)] }, "own");
  const { trials: made } = await study.run({ ask: silentAsk() });
  assert.deepEqual(made.map(({ state }) => state), ["completed", "completed", "completed"]);
  const q4 = join(files, "m-Q4_0.gguf");
  for (const [trial, format, name] of [["t01", "gguf", q4], ["t02", "gptq", ""]] as const) {
    const output = join(files, format);
    const { exitCode, said } = await pare(
      ...["convert", `own/${trial}`, output, "--to", format, "--store", store],
    );
    assert.equal(exitCode, 0, said);
    if (name !== "") await copyFile(join(output, "model.gguf"), name);
  }
  await copyFile(q4, join(files, "again.gguf"));

  await t.step("a study of candidates alone tries those and nothing else", async () => {
    const chosen = await lab.open({
      ...common,
      max_trials: 2,
      strategies: [{ checkpoint: q4 }, { checkpoint: join(files, "gptq") }],
    }, "chosen");
    const { trials } = await chosen.run({ ask: silentAsk() });
    assert.deepEqual(trials.map(({ state }) => state), ["completed", "completed", "completed"]);
    assert.deepEqual(
      trials.slice(1).map(({ strategy }) => strategy!.strategy_id),
      ["s01-m-Q4_0.gguf", "s02-gptq"],
    );
    const score = (one: (typeof trials)[number]) =>
      one.measurements.findLast(({ metric, task }) => metric === "accuracy" && task === null);
    assert.equal(score(trials[1]!)?.value, score(made[1]!)?.value, "the same numbers");
    const rows = await lab.sql`SELECT DISTINCT method, file_bytes FROM (
      SELECT artifact_id, value AS file_bytes FROM artifact_figures WHERE metric = 'file_bytes'
    ) JOIN artifacts USING (artifact_id)`;
    assert.equal(rows.length, 2);
    const journal = JSON.stringify(await (await lab.store.current())!.journalOf("chosen"));
    assert.ok(!journal.includes(files), "the journal names a path");
  });

  await t.step(
    "one more is added to a study that exists; the same file again is reused",
    async () => {
      const first = await pare("add", "own", q4, "--store", store);
      assert.equal(first.exitCode, 0, first.said);
      assert.match(first.said, /own\/t03 is the trial of m-Q4_0\.gguf\n?/);
      const again = await pare("add", "own", join(files, "again.gguf"), "--store", store);
      assert.match(again.said, /own\/t03 is the trial of m-Q4_0\.gguf, reused/);
    },
  );

  await t.step("it runs again where its file lies, and says where it does not", async () => {
    const there = await pare("reproduce", "chosen/t01", "--model", "tiny", "--store", store);
    assert.match(there.said, /artifact +.*equal/);
    await rename(q4, join(folder, "moved.gguf"));
    await rename(join(files, "again.gguf"), join(folder, "moved-again.gguf"));
    const gone = await pare("reproduce", "chosen/t01", "--model", "tiny", "--store", store);
    assert.equal(gone.exitCode, 2, gone.said);
    assert.match(gone.said, /as m-Q4_0\.gguf, whose content is [0-9a-f]{16}, is nowhere here/);
    const named = await pare(
      ...["reproduce", "chosen/t01", "--model", "tiny", "--store", store],
      ...["--candidates", join(folder, "moved.gguf")],
    );
    assert.match(named.said, /artifact +.*equal/);
  });

  await t.step("what is no checkpoint of the model is refused before any work", async () => {
    const bad = join(files, "bad.gguf");
    await writeFile(bad, "GGUF");
    const { exitCode, said } = await pare(
      ...["run", "--model", "tiny", "--dataset", dataset, "--store", store, "--yes"],
      ...["--candidates", bad],
    );
    assert.equal(exitCode, 2, said);
    assert.match(said, /pare: Cannot read bad\.gguf/);
    assert.equal((await lab.studies()).length, 2);
  });
});
