/** The index and its log: whatever became of them, the answers are the journals'. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { openStore } from "../../../tracker/store/store.ts";
import { contents, copyStore } from "../../fixtures/stores/contents.ts";
import { killedStore } from "../../fixtures/stores/killed_store.ts";
import { runPaths } from "../../../tracker/store/store_paths.ts";
import { sometimes } from "../loop.ts";
import type { Mutation } from "./mutations.ts";
import type { Target } from "./target.ts";

/** Each takes a third of a second: these places of a walk, others of the next seed's. */
const MOST = 120;
/** Of a journal only cuts are tried, each fourth of its mutations: the others take no time. */
const MOST_OF_JOURNAL = 400;

export async function indexTargets(folder: string): Promise<Target[]> {
  const killed = join(folder, "killed");
  const expected = await killedStore(join(folder, "used"), killed);
  const copy = join(folder, "copy");
  /** Answers of a fresh copy in which one file is damaged. */
  const answered = async (file: string, { bytes }: Mutation): Promise<unknown> => {
    await copyStore(killed, copy);
    await Deno.writeFile(join(copy, file), bytes);
    const store = await openStore(copy, { write: true });
    const { caught_up, error } = await store.flush({ wait_ms: 60_000 });
    assert.ok(caught_up, error ?? "the index does not catch up");
    const found = await contents(store);
    await store.close();
    const names = [...Deno.readDirSync(copy)].map(({ name }) => name);
    if (names.some((name) => name.includes(".damaged-"))) sometimes("an index is made anew");
    await Deno.remove(copy, { recursive: true });
    return found;
  };
  const target = (file: string): Target => ({
    ...{ file, bytes: Deno.readFileSync(join(killed, file)), lines: false, kind: "survivable" },
    most: MOST,
    async check(mutation) {
      assert.deepEqual(await answered(file, mutation), expected, "an answer changed");
    },
  });
  const journal = runPaths(killed, "demo-1").journal.slice(killed.length + 1);
  return [
    target("pare.duckdb"),
    target("pare.duckdb.wal"),
    {
      ...target(journal),
      most: MOST_OF_JOURNAL,
      // The index knows of more than a journal that lost its end says: it must not be believed.
      async check(mutation) {
        if (mutation.how !== "cut") return;
        const found = await answered(journal, mutation);
        await copyStore(killed, copy);
        await Deno.writeFile(join(copy, journal), mutation.bytes);
        await Deno.remove(join(copy, "pare.duckdb"));
        await Deno.remove(join(copy, "pare.duckdb.wal"));
        await using store = await openStore(copy, { write: true });
        await store.flush({ wait_ms: 60_000 });
        assert.deepEqual(found, await contents(store), "the index says what no journal says");
        await store.close();
        await Deno.remove(copy, { recursive: true });
      },
    },
  ];
}
