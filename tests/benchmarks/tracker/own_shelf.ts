import { openStore } from "../../../tracker/store/store.ts";
import { studyOpened } from "../../fixtures/stores/records.ts";
import { median } from "../bench_table.ts";

/** A store of many runs, each in a folder and a journal of its own. */
export interface OwnShelf {
  readonly runs: number;
  /** Until it is open for reading and the names of its runs are known. */
  readonly open_ms: number;
  /** Until the list of its runs is answered, as `pare studies` prints it. */
  readonly list_ms: number;
}

/** Records `runs` studies, then opens their store `repeats` times: medians. */
export async function ownShelf(root: string, runs: number, repeats: number): Promise<OwnShelf> {
  {
    await using store = await openStore(root, { write: true });
    for (let run = 0; run < runs; run++) {
      const study_id = `run-${run}`;
      await store.record(studyOpened(study_id));
      await store.release(study_id);
    }
    const { caught_up } = await store.flush({ wait_ms: 300_000 });
    if (!caught_up) throw new Error("Cannot measure the shelf: its index did not catch up");
  }
  const opened: number[] = [];
  const listed: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const started = performance.now();
    await using store = await openStore(root, { write: false });
    const names = await store.studyIds();
    opened.push(performance.now() - started);
    const studies = await store.studies();
    listed.push(performance.now() - started);
    if (names.length !== runs || studies.length !== runs) {
      throw new Error(`Cannot trust the shelf: it has ${names.length} of ${runs} runs`);
    }
  }
  return { runs, open_ms: median(opened), list_ms: median(listed) };
}
