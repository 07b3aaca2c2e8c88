/** A store that requests are tried on, and what lies beside it. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../../tracker/store/store.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";

/** The place of a store with one study, in a folder. */
export async function recordedStore(folder: string): Promise<string> {
  const at = join(folder, "store");
  await using store = await openStore(at, { write: true });
  await Promise.all(studyRecords(STUDY).map((record) => store.record(record)));
  await store.flush({ wait_ms: 60_000 });
  return at;
}

/** What lies beside the store and its home, which no request may change. */
export function besideOf(folder: string): string {
  return readdirSync(folder).filter((name) => name !== "store" && name !== "home").sort()
    .map((name) => `${name} ${statSync(join(folder, name)).mtimeMs}`).join("\n");
}
