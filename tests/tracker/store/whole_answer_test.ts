import assert from "node:assert/strict";
import { journalOf } from "../../fixtures/stores/journals.ts";
import { join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { main } from "../../../tracker/cli.ts";
import { wholeAnswer } from "../../../tracker/store/query/whole_answer.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { pare as pareProcess } from "../../fixtures/stores/pare.ts";
import { startScript } from "../../fixtures/programs.ts";
import { databaseHolder, inDirectory } from "../../fixtures/stores/processes.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";

const answer = (stale: string | null) => ({ columns: [], rows: [{ n: 1 }], capped: false, stale });

Deno.test("an answer is asked again while its index gets on, and says so where it does not", async () => {
  const steps = ["has 10.0%", "has 10.1%", "has 99.0%", null];
  const whole = await wholeAnswer(() => Promise.resolve(answer(steps.shift() ?? null)));
  assert.deepEqual([whole.stale, steps.length], [null, 0]);
  const began = performance.now();
  const held = await wholeAnswer(() => Promise.resolve(answer("process 1 has it")), {
    still_ms: 250,
    whole_ms: 60_000,
  });
  assert.equal(held.stale, "process 1 has it");
  assert.ok(performance.now() - began < 5_000);
});

async function pare(...words: string[]): Promise<{ code: number; out: string; said: string }> {
  const { log, error } = console;
  let [out, said] = ["", ""];
  console.log = (...parts: unknown[]) => out += `${parts.join(" ")}\n`;
  console.error = (...parts: unknown[]) => said += `${parts.join(" ")}\n`;
  try {
    return { code: await main(words), out, said };
  } finally {
    Object.assign(console, { log, error });
  }
}

Deno.test("a reader of a torn journal says so, has every record, and does not say to ask again", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "store");
    {
      await using store = await openStore(root, { write: true });
      for (const study of ["a", "b"]) {
        await Promise.all(studyRecords(study).map((record) => store.record(record)));
      }
    }
    const torn = '{"v":1,"type":"study_op';
    await Deno.writeTextFile(journalOf(root, "a"), torn, { append: true });
    const file = join(folder, "n.csv");
    const count = ["sql", "SELECT count(*) AS n FROM studies", "--format", "csv", "--output", file];
    const { code, said } = await pare(...count, "--store", root);
    assert.equal(code, 0);
    assert.equal(await Deno.readTextFile(file), "n\n2\n");
    assert.match(said, new RegExp(`ends in ${torn.length} bytes that are no whole record`));
    assert.doesNotMatch(said, /ask again/);
    const status = await pare("status", "--store", root);
    assert.match(status.out, /index +has everything that is recorded/);
    await using store = await openStore(root, { write: false });
    assert.equal((await store.studies()).length, 2);
  }));

Deno.test("a store that was deleted while it was open is said to be gone, by every way of reading", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "home", "store");
    {
      await using store = await openStore(root, { write: true });
      for (const record of studyRecords("a")) await store.record(record);
    }
    await using store = await openStore(root, { write: false });
    assert.deepEqual((await store.query("SELECT count(*) AS n FROM studies")).rows, [{ n: 1 }]);
    await Deno.remove(join(folder, "home"), { recursive: true });
    const gone = (error: unknown) =>
      error instanceof UsageError &&
      /store as it is gone: .*while it was open/.test(error.message);
    await assert.rejects(store.query("SELECT 1"), gone);
    await assert.rejects(store.studies(), gone);
    await assert.rejects(store.journalOf("a"), gone);
  }));

Deno.test("a question of pare's own is refused where another process keeps the index from getting on", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "store");
    const record = async (study: string) => {
      await using store = await openStore(root, { write: true });
      await Promise.all(studyRecords(study).map((one) => store.record(one)));
    };
    await record("a");
    const database = join(root, "pare.duckdb");
    const holder = await startScript(folder, databaseHolder(database, "READ_ONLY"));
    assert.equal(await holder.line(), "open");
    await record("b"); // its index cannot be written
    {
      await using store = await openStore(root, { write: false });
      const part = await store.query("SELECT count(*) AS n FROM studies");
      assert.match(part.stale ?? "", new RegExp(`process ${holder.pid} `));
      assert.deepEqual(part.rows, [{ n: 1 }]);
      await assert.rejects(
        store.studies(),
        /Cannot answer for the whole store .*: what was recorded/,
      );
      await holder.kill();
      assert.equal((await store.studies()).length, 2);
    }
  }));

Deno.test("another process's answer has what a writer recorded whose index waits for a timing", () =>
  inDirectory(async (folder) => {
    const root = join(folder, "store");
    await using store = await openStore(root, { write: true });
    const record = (study: string) =>
      Promise.all(studyRecords(study).map((one) => store.record(one)));
    await record("first");
    assert.ok((await store.flush({ wait_ms: 60_000 })).caught_up);
    using _timing = store.pauseSink();
    const others = ["a", "b", "c"];
    for (const study of others) await record(study); // most of the journal, by far
    const { code, stdout, stderr } = await pareProcess("studies", "--json", "--store", root);
    assert.equal(code, 0, stderr);
    const ids = JSON.parse(stdout).data.map(({ study_id }: { study_id: string }) => study_id);
    assert.deepEqual(ids.sort(), [...others, "first"]);
  }));
