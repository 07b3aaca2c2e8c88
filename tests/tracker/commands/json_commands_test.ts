/** Every command that tells something has `--json`: one document on standard output, of its shape. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { z } from "zod";
import { main } from "../../../tracker/cli.ts";
import { withoutBars } from "../../../tracker/commands/ask/log.ts";
import { JSON_SHAPES } from "../../../tracker/show/json/json_shapes.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { shareDefaultEnvironment } from "../../python-backends/scripted_worker.ts";

const LOG = "begin\n\r  0%|   | 0/9\r 55%|## | 5/9\r100%|###| 9/9\nread 9 rows\r\n";

/** What a command prints on standard output, and ends with. */
async function printed(...words: string[]): Promise<{ code: number; out: string[] }> {
  const { log, error } = console;
  const out: string[] = [];
  console.log = (...parts: unknown[]) => void out.push(parts.join(" "));
  console.error = () => {};
  try {
    return { code: await main(words), out };
  } finally {
    Object.assign(console, { log, error });
    Deno.exitCode = 0;
  }
}

/** The document that a command prints, checked against what `pare schema json` says of its kind. */
// deno-lint-ignore no-explicit-any -- of any shape
async function documentOf(kind: keyof typeof JSON_SHAPES, ...words: string[]): Promise<any> {
  const { code, out } = await printed(...words, "--json");
  assert.equal(code, 0, words.join(" "));
  assert.equal(out.length, 1, `${words[0]} prints one document`);
  const document = JSON.parse(out[0]!);
  assert.equal(document.kind, kind, words.join(" "));
  return z.unknown().pipe(JSON_SHAPES[kind] as z.ZodType).parse(document.data);
}

Deno.test("a trial that has not ended is refused by its card, in words", () =>
  inDirectory(async (folder) => {
    const w = world({ max_trials: 2 });
    await run(w);
    const last = w.records.findLastIndex(({ type }) => type === "trial_opened");
    {
      await using store = await openStore(join(folder, "store"), { write: true });
      for (const record of w.records.slice(0, last + 1)) {
        if (record.type !== "samples_written") await store.record(record);
      }
    }
    const { error } = console;
    const said: string[] = [];
    console.error = (...parts: unknown[]) => void said.push(parts.join(" "));
    try {
      assert.equal(await main(["show", "t02", "--store", join(folder, "store")]), 2);
    } finally {
      Object.assign(console, { error });
      Deno.exitCode = 0;
    }
    assert.match(said.join("\n"), /Cannot show .*\/t02 as it has not ended.* pare log /);
  }));

Deno.test("every command that tells something prints one document where it is asked to", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "store");
    const w = world({ max_trials: 3 });
    const { study_id, trials } = await run(w);
    {
      await using store = await openStore(root, { write: true });
      for (const record of w.records) {
        if (record.type !== "samples_written") await store.record(record);
      }
      await Deno.writeTextFile(store.logPath(study_id, trials[1]!.trial_id, "apply"), LOG);
    }
    const of = ["--store", root];
    const shown = await documentOf("study", "show", ...of);
    assert.equal(shown.study_id, study_id, "of a study the study, as without --json");
    assert.equal(shown.trials.length, trials.length);
    assert.equal(shown.files, null);
    assert.equal((await documentOf("trial", "show", "t01", ...of)).name, "t01");
    const weighed = await documentOf("weighed", "weigh", ...of);
    assert.deepEqual(weighed.weighed.map(({ name }: { name: string }) => name), [
      ...["edge", "cloud", "greenest"],
    ]);
    const own = await documentOf("weighed", "weigh", ...of, "--weights", "accuracy=1");
    assert.deepEqual([own.weighed.length, own.weighed[0].name], [1, null]);
    const { calls } = await documentOf("log", "log", "t01", ...of);
    assert.deepEqual(
      [calls[0].call, calls[0].text, calls[0].as_recorded],
      ["apply", "begin\n100%|###| 9/9\nread 9 rows", null],
    );
    const note = await documentOf("note", "note", "t01", "a word", ...of);
    assert.deepEqual([note.subject, note.said], [`${study_id}/t01`, `noted for ${study_id}/t01`]);
    const exported = await documentOf("export", "export", "--parquet", join(folder, "out"), ...of);
    assert.ok(exported.tables.some(({ name }: { name: string }) => name === "trials"));
    const report = await documentOf("study", "report", ...of, "--output", join(folder, "report"));
    assert.ok(report.files.includes(join(folder, "report", "report.html")));
    const public_folder = join(folder, "public");
    const published = await documentOf("published", "publish", study_id, public_folder, ...of);
    assert.deepEqual([published.folder, published.hub], [public_folder, null]);
    assert.ok(published.files > 5);
  }));

Deno.test("a command that runs a study prints what it came to alone", () =>
  inDirectory(async (folder) => {
    await shareDefaultEnvironment();
    const of = ["--store", join(folder, "store"), "--output", join(folder, "report")];
    const model = ["--model", "tiny", "--dataset", "tiny", "--offline"];
    const study = await documentOf("study", "evaluate", ...model, ...of);
    assert.equal(study.stop, "evaluated");
    const [trial] = study.trials;
    assert.deepEqual(
      trial.task_figures.map(({ task, metric }: Record<string, string>) => `${task} ${metric}`),
      ["tiny_words accuracy"],
    );
    assert.ok(study.files.length > 0);
    const again = await documentOf("study", "resume", ...of);
    assert.deepEqual([again.study_id, again.stop], [study.study_id, study.stop]);
  }));

Deno.test("bars are folded to their last state; lines that end otherwise stay", () => {
  assert.equal(withoutBars(LOG), "begin\n100%|###| 9/9\nread 9 rows\n");
  assert.equal(withoutBars("a\n\nb"), "a\n\nb");
  assert.equal(withoutBars("1%\r\r\n"), "1%\n");
});
