import { join } from "node:path";
import { openStore } from "../../../tracker/store/store.ts";
import { startScript } from "../../fixtures/programs.ts";
import { lagSeconds } from "./own_points.ts";

const STORE = import.meta.resolve("../../../tracker/store/store.ts");
const BATCH = 10_000;

/** How long a store takes to open whose writer was killed when its index had half of the rows. */
export interface OwnRecovery {
  readonly rows: number;
  /** Until the store is open. */
  readonly open_ms: number;
  /** Until it has acknowledged a point. */
  readonly first_point_ms: number;
  /** Until the index has the other half too. */
  readonly caught_up_s: number;
}

/** Writes rows for ever after half of `rows` are in the index, which then gets no more. */
function writer(root: string, rows: number): string {
  return `
    import { openStore } from ${JSON.stringify(STORE)};
    const store = await openStore(${JSON.stringify(root)}, { write: true });
    const run = store.openRun({ study_id: "rows", trial_id: "rows/t00" });
    for (let first = 0;; first += ${BATCH}) {
      const loss = Float64Array.from({ length: ${BATCH} }, (_, n) => Math.sqrt(first + n));
      await run.logBatch({ loss }, { step: first });
      if (first + ${BATCH} === ${rows / 2}) {
        await store.flush({ wait_ms: 60_000 });
        store.pauseSink();
      }
      if (first + ${BATCH} >= ${rows}) console.log(first + ${BATCH});
    }`;
}

/** Writes `rows` points in another process, kills it in the middle of the next, opens the store. */
export async function ownRecovery(folder: string, rows: number): Promise<OwnRecovery> {
  const root = join(folder, "store");
  const child = await startScript(folder, writer(root, rows));
  const said = await child.line();
  await child.kill();
  if (said === null) throw new Error("Cannot measure the opening: the writer ended by itself");
  const started = performance.now();
  await using store = await openStore(root, { write: true });
  const open_ms = performance.now() - started;
  await store.openRun({ study_id: "rows", trial_id: "rows/t01" }).log({ loss: 1 }, { step: 0 });
  const first_point_ms = performance.now() - started;
  await lagSeconds(store);
  const caught_up_s = (performance.now() - started) / 1000;
  const { rows: [count] } = await store.query("SELECT count(*) AS n FROM metric_points");
  if (Number(count!["n"]) <= rows) throw new Error(`Cannot trust the opening: ${count!["n"]} rows`);
  return { rows, open_ms, first_point_ms, caught_up_s };
}
