import assert from "node:assert/strict";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { studyRecords } from "../fixtures/stores/records.ts";
import { recordedStore } from "../fixtures/stores/recorded.ts";

Deno.test("an honest query of more than memory goes on with a folder on disk, which is removed", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, studyRecords());
    let spilled = false;
    const watched = setInterval(() => {
      for (const { name } of Deno.readDirSync(root)) spilled ||= name.startsWith("spill-");
    }, 50);
    try {
      const { rows } = await store.query(
        `SELECT count(*) AS n, max(place) AS last FROM (
           SELECT row_number() OVER (ORDER BY hash(x)) AS place, x
           FROM (SELECT repeat('x', 200) || a AS x FROM range(12000000) t(a))) WHERE length(x) > 0`,
        { timeoutMs: 1_800_000 },
      );
      assert.deepEqual(rows, [{ n: 12_000_000, last: 12_000_000 }]);
    } finally {
      clearInterval(watched);
    }
    assert.ok(spilled);
    await store.query("SELECT 1");
    const left = [...Deno.readDirSync(root)].filter(({ name }) => name.startsWith("spill-"));
    assert.deepEqual(left, []);
  }));

Deno.test("a query hands over no answer that is too large, and the next one is answered", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, studyRecords());
    await assert.rejects(
      store.query("SELECT repeat('x', 140000000) AS x FROM range(2)", { timeoutMs: 120_000 }),
      /^UsageError: Cannot hand over an answer of 280 MB: ask for fewer rows or columns/,
    );
    assert.deepEqual((await store.query("SELECT 1 AS one")).rows, [{ one: 1 }]);
  }));
