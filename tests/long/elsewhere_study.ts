/** Checkpoints that were made elsewhere, through every real process: as trials, added, looked for again. */
import assert from "node:assert/strict";
import { copyFile, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createBackendClient } from "../../python-backends/client.ts";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { runPare } from "../fixtures/programs.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { must, trainedTinyModel } from "../tiny_model.ts";

const WORDS = ["the red fox", "the old owl", "a grey hare", "the young wolf"];
const rows = Array.from(
  { length: 12 },
  (_, i) => `${JSON.stringify({ prompt: `${i} ${WORDS[i % 4]}`, answer: "den" })}\n`,
);
const ENVIRONMENT = { environment: "default" };

/** The tiny model, and what another tool might have made of it: pare's own integers in other layouts. */
async function downloads(folder: string) {
  await shareDefaultEnvironment();
  const client = createBackendClient({ home: join(folder, "home") });
  try {
    const model = await trainedTinyModel(client);
    const made = join(folder, "rounded");
    await mkdir(made);
    must(
      await client.run({
        ...{ call: "apply", parent_dir: model, output_dir: made, seed: 1, python_path: null },
        ...{ agent: "quantization", method: "rtn", calibration_path: null },
        params: { bits: 4, group_size: 32, symmetric: true },
      }, ENVIRONMENT),
    );
    for (const format of ["gguf", "gptq", "awq"]) {
      const output_dir = join(folder, `m-${format}`);
      await mkdir(output_dir);
      must(
        await client.run({ call: "convert", format, artifact_dir: made, output_dir }, ENVIRONMENT),
      );
    }
    await rename(join(folder, "m-gguf", "model.gguf"), join(folder, "m-Q4_0.gguf"));
    await copyFile(join(folder, "m-Q4_0.gguf"), join(folder, "again.gguf"));
    return model;
  } finally {
    await client.close();
  }
}

async function pare(...words: string[]) {
  const { exitCode, stdout, stderr } = await runPare(words);
  return { exitCode, said: `${stdout}\n${stderr}` };
}

Deno.test("downloads are trials: measured beside the original, added, and looked for again", async (t) => {
  const folder = temporaryFolder("elsewhere-study");
  const files = join(folder, "files");
  await mkdir(files);
  const dataset = join(folder, "own.jsonl");
  await writeFile(dataset, rows.join(""));
  const store = join(folder, "store");
  const model_name = await downloads(files);
  const q4 = join(files, "m-Q4_0.gguf");

  await t.step("a study of candidates alone tries those and nothing else", async () => {
    await using lab = await openLab({ store });
    const study = await lab.open({
      ...{ model_name, dataset, samples: { full: 12 }, max_trials: 2 },
      // Their speed is not the question, and this runtime needs no graph and no file of its own.
      runtime: "transformers",
      methods: ["rtn"], // what a search is kept to leaves out no checkpoint
      strategies: [{ checkpoint: q4 }, { checkpoint: join(files, "m-gptq") }],
    }, "own");
    const { trials } = await study.run({ ask: silentAsk() });
    assert.deepEqual(trials.map(({ state }) => state), ["completed", "completed", "completed"]);
    const names = trials.slice(1).map(({ strategy }) => strategy!.strategy_id);
    assert.deepEqual(names, ["s01-m-Q4_0.gguf", "s02-m-gptq"]);
    const figures = await lab.sql`
      SELECT DISTINCT artifact_id, value FROM artifact_figures WHERE metric = 'file_bytes'`;
    assert.equal(figures.length, 2);
    const journal = JSON.stringify(await (await lab.store.current())!.journalOf("own"));
    assert.ok(!journal.includes(files), "the journal names a path");
  });

  await t.step("one more is added, and the same file under another name is reused", async () => {
    const { exitCode, said } = await pare(
      ...["add", "own", join(files, "again.gguf"), join(files, "m-awq"), "--store", store],
    );
    assert.equal(exitCode, 0, said);
    assert.match(said, /own\/t01 is the trial of m-Q4_0\.gguf, reused/);
    assert.match(said, /own\/t03 is the trial of m-awq\n/);
  });

  await t.step("run again it is looked for by its content, and what is gone is said", async () => {
    for (const name of ["m-Q4_0.gguf", "again.gguf"]) {
      await rename(join(files, name), join(folder, name));
    }
    const { exitCode, said } = await pare("reproduce", "own/t01", "--store", store);
    assert.equal(exitCode, 2, said);
    assert.match(said, /as m-Q4_0\.gguf, whose content is [0-9a-f]{16}, is nowhere here/);
  });

  await t.step("what is no checkpoint of the model is refused before any work", async () => {
    const bad = join(files, "bad.gguf");
    await writeFile(bad, "GGUF");
    const { exitCode, said } = await pare(
      ...["run", "--model", model_name, "--dataset", dataset, "--store", store, "--yes"],
      ...["--candidates", bad],
    );
    assert.equal(exitCode, 2, said);
    assert.match(said, /pare: Cannot read bad\.gguf/);
  });
});
