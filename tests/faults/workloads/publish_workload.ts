/** A study published, and again over that: a folder is whole by its own sums, or it is not there. */
import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { publishStudy } from "../../../tracker/exchange/publish/publish_study.ts";
import { sha256File } from "../../../tracker/ground/storage/file_hash.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { privateWords } from "../../../tracker/show/report_sql/withheld.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";
import { sometimes } from "../loop.ts";
import { acknowledge, type Workload } from "./workload.ts";

/** Beside what is traced: nothing of it is written. */
const storeOf = (root: string) => `${root}.store`;
const outOf = (root: string) => join(root, "out");

async function published(root: string, user: string, force: boolean): Promise<void> {
  await using store = await openStore(storeOf(root), { write: false });
  const hidden = privateWords({
    ...{ home: "/none", checkout: "/none", host: "none", variables: { USER: user } },
  });
  const directory = outOf(root);
  const registry = await discoverPlugins();
  await publishStudy({ store, study_id: STUDY, registry, hidden, directory, force });
}

async function work(root: string): Promise<void> {
  await published(root, "ada", false);
  acknowledge("published");
  await published(root, "quantization", true); // a word that stands in it, so that files change
  acknowledge("published again");
  Deno.exit(0);
}

/** Files that are not as the folder's own sums say; null: it has no sums. */
async function unlikeSums(out: string): Promise<string[] | null> {
  const sums = join(out, "SHA256SUMS");
  if (!existsSync(sums)) return null;
  const unlike: string[] = [];
  for (const line of Deno.readTextFileSync(sums).split("\n").slice(0, -1)) {
    const [sha256, path] = [line.slice(0, 64), join(out, line.slice(66))];
    if (!existsSync(path) || await sha256File(path) !== sha256) unlike.push(line.slice(66));
  }
  return unlike;
}

/** Each takes a second or two: of every so many states it is published again. */
const AGAIN = 40;

export const publishWorkload: Workload = {
  name: "publish",
  script: import.meta.filename!,
  adds_up: false,
  async prepare(root) {
    rmSync(storeOf(root), { recursive: true, force: true });
    await using store = await openStore(storeOf(root), { write: true });
    for (const record of studyRecords()) {
      if (record.type !== "samples_written") await store.record(record);
    }
    await store.flush({ wait_ms: 60_000 });
  },
  async check(root, acknowledged, nth, hit) {
    const [first, again] = [acknowledged.includes("published"), acknowledged.length === 2];
    const out = outOf(root);
    if (hit?.lied === true) sometimes("a publication is lied to by its disk");
    else if (!first && !existsSync(out)) {
      sometimes("a publication that a fault broke off is not there");
    } else {
      const unlike = await unlikeSums(out);
      assert.ok(unlike !== null, "a publication has no sums");
      // While it is written over an earlier one its sums tell that it is neither.
      if (!first || again) assert.deepEqual(unlike, [], "a publication is not whole");
    }
    if (hit === undefined && nth % AGAIN !== 0) return;
    await published(root, "ada", existsSync(out));
    assert.deepEqual(await unlikeSums(out), []);
    const beside = [...Deno.readDirSync(root)].map(({ name }) => name);
    assert.deepEqual(beside, ["out"], "what was broken off lies beside it");
    sometimes("a publication is mended after a fault");
  },
};

if (import.meta.main) await work(Deno.args[0]!);
