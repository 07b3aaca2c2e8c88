/** Places, tables and counts are of one rung: a trial of fewer samples stands apart, whatever it scored. */
import assert from "node:assert/strict";
import { type JournalRecord, type Measurement, type Trial, trialName } from "../../../core/mod.ts";
import { listTrials } from "../../../tracker/board/resources/trials.ts";
import { answerBlocks, askedBlocks } from "../../../tracker/show/reports/answer_blocks.ts";
import { latexTables } from "../../../tracker/show/reports/formats/latex_tables.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { trialBlocks } from "../../../tracker/show/reports/trial_blocks.ts";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { trialTable } from "../../../tracker/show/terminal/trial_table.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const w = world({ max_trials: 6 });
const { study_id } = await run(w);

/** The study, one trial of which was evaluated on the proxy alone, and scored best there. */
function onProxy(trial: Trial): Trial {
  const lower = (row: Measurement): Measurement[] => {
    const ofAnswers = row.task !== null || row.metric === "accuracy" || row.metric === "flips";
    if (!ofAnswers) return [row];
    return row.fidelity === "proxy"
      ? [row.metric === "accuracy" ? { ...row, value: 0.99, n: 100 } : row]
      : [];
  };
  return {
    ...trial,
    fidelity: "proxy",
    measurements: trial.measurements.flatMap(lower),
    constraints: [],
    reward: {
      value: 9,
      terms: [{ term: "accuracy", weight: 1, normalised: 9, contribution: 9, note: null }],
    },
  };
}

const closed = w.records.flatMap((one) => one.type === "trial_closed" ? [one.trial] : []);
const chosen = closed.find(({ number, state, fidelity }) =>
  number > 0 && state === "completed" && fidelity === "full"
)!;
const records = w.records.map((record): JournalRecord =>
  record.type === "trial_closed" && record.trial.trial_id === chosen.trial_id
    ? { ...record, trial: onProxy(chosen) }
    : record
);
const name = trialName(chosen.number);

Deno.test("a trial of the proxy alone has no place, and its table is another", () =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, records);
    for (const view of ["leaderboard", "leaderboard_wide"]) {
      const { rows } = await store.query(
        `SELECT rank, trial_id, fidelity FROM ${view} ORDER BY rank NULLS LAST`,
      );
      assert.equal(rows[0]!["rank"], 1, view);
      for (const { rank, trial_id, fidelity } of rows) {
        assert.equal(rank === null, fidelity !== "full", `${view}: ${trial_id}`);
      }
      const places = rows.flatMap(({ rank }) => rank === null ? [] : [Number(rank)]);
      assert.deepEqual(places, places.map((_, i) => i + 1), view);
      assert.equal(rows.find(({ trial_id }) => trial_id === chosen.trial_id)!["rank"], null);
    }
    for (const order of ["rank", "accuracy", "reward"]) {
      const stores = { of: () => Promise.resolve(store) } as never;
      const { rows } = await listTrials(stores, study_id, { order, page: 1, page_size: 50 });
      const full = rows.map(({ fidelity }) => fidelity === "full");
      assert.ok(full.lastIndexOf(true) < full.indexOf(false), `the board by ${order}`);
    }
    const view = await viewStudy(store, study_id);
    const tex = latexTables(view).split("\\begin{table}");
    const has = (text: string | undefined) => text?.includes(`    ${name} & `);
    assert.deepEqual(tex.slice(1).map(has), [false, true], "the proxy's table is the second");
    assert.match(tex[2]!, /evaluated on the proxy alone.*on the same 100 samples/);
    const [whole, lower] = renderMarkdown(trialBlocks(view)).split("On a lower rung alone");
    const [above, below] = whole!.split("| trial | recipe |").slice(1);
    assert.ok(
      lower !== undefined && below?.includes(`| ${name} |`) && !above!.includes(`| ${name} |`),
    );
    const lines = trialTable(view).split("\n");
    assert.match(lines.at(-1)!, new RegExp(`^${name} .*proxy only`));
    const said = renderMarkdown([...askedBlocks(view), ...answerBlocks(view, "")]);
    const lowerOnly = view.rows.filter(({ state, fidelity }) =>
      state === "completed" && fidelity === "proxy"
    ).length;
    assert.match(
      said,
      new RegExp(`of them measured to the end, ${lowerOnly} on a lower rung alone`),
    );
    assert.match(
      said,
      /has the better reward, 9\.\d+ against .* evaluated on the proxy only, which decides nothing/,
    );
  }));
