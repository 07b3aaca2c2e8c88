/** SIGKILL while an index of an older schema is made anew: the old database is there or the new one. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { openDatabase } from "../../../tracker/store/index/open_database.ts";
import { SCHEMA_VERSION } from "../../../tracker/store/index/schema/files.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { startScript } from "../../fixtures/programs.ts";
import { contents, copyStore } from "../../fixtures/stores/contents.ts";
import { RELEASED, releasedStore } from "../../fixtures/stores/released.ts";

const STORE = import.meta.resolve("../../../tracker/store/store.ts");
const OLD = RELEASED[0]!;

/** Upgrades a store in another process, which is killed so long after it opened it; how long it took. */
async function upgrade(folder: string, root: string, kill_ms: number | null): Promise<number> {
  await releasedStore(OLD, root);
  const child = await startScript(
    folder,
    `import { openStore } from ${JSON.stringify(STORE)};
    const store = await openStore(${JSON.stringify(root)}, { write: true });
    console.log("opened");
    await store.flush({ wait_ms: 60_000 });
    console.log("upgraded");
    setInterval(() => {}, 1000);`,
  );
  assert.equal(await child.line(), "opened");
  const began = performance.now();
  if (kill_ms === null) assert.equal(await child.line(), "upgraded");
  else await new Promise((resolve) => setTimeout(resolve, kill_ms));
  await child.kill();
  return performance.now() - began;
}

/** The schema of the database as it lies there: of a copy, as opening it would take its log over. */
async function schemaOf(root: string, copy: string): Promise<number> {
  await copyStore(root, copy);
  const opened = await openDatabase(join(copy, "pare.duckdb"), { readOnly: true });
  assert.ok("connection" in opened, "no whole database lies there");
  const sql = "SELECT max(version)::INT, (SELECT count(*)::INT FROM trials) FROM schema_migrations";
  const [[version, trials] = []] = (await opened.connection.runAndReadAll(sql)).getRows();
  opened.close();
  assert.equal(trials, 8);
  return Number(version);
}

async function rowsOf(root: string): Promise<unknown> {
  await using store = await openStore(root, { write: true });
  const { caught_up, error } = await store.flush({ wait_ms: 60_000 });
  assert.ok(caught_up, error ?? "the index does not catch up");
  return await contents(store);
}

/** Upgrades of one store, each killed at a share of what a whole one takes; whether the old one was left. */
export async function killedUpgrades(folder: string) {
  const whole = join(folder, "whole");
  const took = await upgrade(folder, whole, null);
  const expected = await rowsOf(whole);
  let n = 0;
  return async (share: number): Promise<boolean> => {
    const root = join(folder, `upgraded-${n++}`);
    await upgrade(folder, root, share * took);
    const schema = await schemaOf(root, `${root}-asked`);
    assert.ok([OLD, SCHEMA_VERSION].includes(schema), `its schema is ${schema}`);
    assert.deepEqual(await rowsOf(root), expected, "an answer changed");
    return schema === OLD;
  };
}
