/** A trial's row has one name for one thing, whether a view or the index tells it. */
import assert from "node:assert/strict";
import { boardStores } from "../../../tracker/board/board_stores.ts";
import { readFront } from "../../../tracker/board/resources/figures.ts";
import { listTrials } from "../../../tracker/board/resources/trials.ts";
import { trialFigures } from "../../../tracker/show/view/trial_figures.ts";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";

/** The index names the limits that are broken; a flat row says whether any is. */
const asFlat = (name: string, cell: unknown) =>
  (name === "violated" || name === "undecided") && Array.isArray(cell) ? cell.length > 0 : cell;

Deno.test("the board's rows say what the flat row of a trial says under the same name", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    for (const record of studyRecords()) await store.record(record);
    await store.flush({ wait_ms: 20_000 });
    const flat = new Map(
      trialFigures(await viewStudy(store, STUDY)).map((row) => [row.trial_id, row]),
    );
    await using stores = boardStores([root]);
    const listed = await listTrials(stores, STUDY, { page: 1, page_size: 50 });
    const drawn = await readFront(await stores.of(STUDY), STUDY);
    assert.equal(listed.rows.length, 4);
    assert.ok(drawn.length > 0);
    for (const row of [...listed.rows, ...drawn]) {
      const own = flat.get(String(row["trial_id"]))!;
      const shared = Object.keys(row).filter((name) => name in own);
      assert.ok(shared.length >= 8, `${shared} alone are named alike`);
      for (const name of shared) {
        // The leaderboard has no baseline: of it the index leaves what is of trials alone.
        if (own.is_baseline && row[name] === null) continue;
        assert.deepEqual(asFlat(name, row[name]), own[name], `${own.trial_id} ${name}`);
      }
    }
  }));
