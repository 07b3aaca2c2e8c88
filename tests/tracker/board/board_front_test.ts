/** The board's picture of the front is the report's, and says how many trials another one leaves out. */
import assert from "node:assert/strict";
import { drawFigure, readFront } from "../../../tracker/board/resources/figures.ts";
import { plotOf } from "../../../tracker/show/reports_of_study.ts";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const w = world({ max_trials: 6 });
const { study_id } = await run(w);

Deno.test("the board draws limit, intervals and shapes as the report does, and counts what it leaves out", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, w.records);
    const stores = { of: () => Promise.resolve(store) } as never;
    const board = await drawFigure(stores, study_id, "pareto", { width: 1000 });
    const report = plotOf(await viewStudy(store, study_id), { width: 1000 });
    const said = (svg: string) =>
      new Set([...svg.matchAll(/<text[^>]*>([^<]+)</g)].map(([, text]) => text!));
    const drawn = said(board);
    // The legend, the axes' words, the limit and every trial's name.
    for (const words of said(report)) {
      if (
        /better|allowed|front|limit|^t\d\d$|baseline|round|tune/.test(words) && words.length < 60
      ) {
        assert.ok(drawn.has(words), `the board's figure lacks "${words}"`);
      }
    }
    assert.ok(drawn.has("allowed drop 0.02"));
    const all = await readFront(store, study_id);
    const some = await readFront(store, study_id, 2);
    assert.ok(some.length < all.length);
    for (const { eligible } of [...all, ...some]) assert.equal(eligible, all.length);
  }));

Deno.test("the report's picture says by what its point was chosen, whatever stands behind that", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, w.records);
    const view = await viewStudy(store, study_id);
    const reasons = [...view.reasons, "t09 has the better reward, and was passed over."];
    const svg = plotOf({ ...view, reasons }, { width: 1000 });
    assert.match(svg, /is recommended: Its reward, /);
    assert.doesNotMatch(svg, /passed over/);
  }));
