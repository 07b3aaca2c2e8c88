/** How well a rung orders the trials: by the core's formulas, by SQL, and in the report. */
import assert from "node:assert/strict";
import {
  type Assumption,
  ladderAdvice,
  ladderByAgreement,
  LEAST_TRIALS,
  rankAgreement,
  rungAgreements,
  seededRandom,
  type SeenAgreement,
} from "../../../core/mod.ts";
import { withEarlierLadder } from "../../../tracker/lab/data/earlier_ladder.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { studyReport } from "../../../tracker/show/reports/study_report.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const near = (value: number | null, wanted: number, by = 1e-12) =>
  assert.ok(value !== null && Math.abs(value - wanted) <= by, `${value} is not ${wanted}`);

Deno.test("rank correlations are those of the tables, ties in the middle of their ranks", () => {
  // scipy.stats 1.17: spearmanr and kendalltau of these
  const a = [1, 2, 3, 4, 5, 6, 7];
  const b = [2, 1, 4, 3, 7, 5, 6];
  const { spearman, kendall, n } = rankAgreement(a, b);
  assert.equal(n, 7);
  near(spearman, 0.8214285714285715);
  near(kendall, 0.6190476190476191);
  const tied = rankAgreement([1, 2, 2, 3, 3], [1, 1, 2, 3, 4]);
  near(tied.spearman, 0.892217816219194);
  near(tied.kendall, 0.8249579113843054);
});

Deno.test("three trials, one value for all, and none have no order", () => {
  const nothing = { spearman: null, interval: null, kendall: null };
  assert.deepEqual(rankAgreement([1, 2, 3], [1, 2, 3]), { n: LEAST_TRIALS - 1, ...nothing });
  assert.deepEqual(rankAgreement([1, 1, 1, 1], [1, 2, 3, 4]), { n: 4, ...nothing });
  assert.deepEqual(rankAgreement([], []), { n: 0, ...nothing });
});

Deno.test("four trials in one order are no certainty, twenty nearly are", () => {
  const order = (n: number) => Array.from({ length: n }, (_, i) => i);
  const four = rankAgreement(order(4), order(4));
  assert.equal(four.spearman, 1);
  assert.ok(four.interval![0] < 0, String(four.interval));
  assert.equal(four.interval![1], 1);
  assert.ok(rankAgreement(order(20), order(20)).interval![0] > 0.95);
});

Deno.test("the interval covers the rank correlation about as often as it says", () => {
  const random = seededRandom(11);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const r = 0.8;
  const truth = 6 / Math.PI * Math.asin(r / 2); // of normal pairs
  const studies = 600;
  let covered = 0;
  for (let study = 0; study < studies; study++) {
    const a = Array.from({ length: 12 }, normal);
    const b = a.map((x) => r * x + Math.sqrt(1 - r * r) * normal());
    const [low, high] = rankAgreement(a, b).interval!;
    if (low <= truth && truth <= high) covered++;
  }
  assert.ok(covered / studies > 0.91, `${covered} of ${studies}`);
});

// Losses that differ by trial, so that rungs have something to order.
const w = world({ max_trials: 8, max_full_evaluations: 8, constraints: { max_accuracy_drop: 1 } }, {
  loss: (bits, actions) => 0.02 * (16 - bits) + 0.03 * actions.length,
});
const { study_id, trials } = await run(w);
const { spec } = w.input();
const found = rungAgreements(trials, spec);

Deno.test("the view has the core's figures, and null where too few trials have both", () =>
  inDirectory(async (root) => {
    assert.ok(found.some(({ spearman }) => spearman !== null), JSON.stringify(found));
    await using store = await recordedStore(root, w.records);
    const { rows } = await store.query("SELECT * FROM rung_agreement ORDER BY fidelity, metric");
    assert.equal(rows.length, found.length);
    for (const row of rows) {
      const own = found.find(({ fidelity, metric }) =>
        fidelity === row["fidelity"] && metric === row["metric"]
      )!;
      assert.equal(Number(row["trials"]), own.n);
      if (own.spearman === null) assert.equal(row["spearman"], null);
      else {
        near(Number(row["spearman"]), own.spearman, 1e-9);
        near(Number(row["spearman_low"]), own.interval![0], 1e-9);
        near(Number(row["spearman_high"]), own.interval![1], 1e-9);
        near(Number(row["kendall"]), own.kendall!, 1e-9);
      }
    }
    const [proxy] = rows.filter((row) => row["fidelity"] === "proxy" && row["metric"] === "flips");
    assert.equal(Number(proxy!["samples"]), 100);
    assert.deepEqual([proxy!["judged_by"], proxy!["judged_on"]], ["accuracy", "full"]);
  }));

Deno.test("of one, two and three trials the view has null, and is asked without an error", async () => {
  for (const max_trials of [1, 2, 3]) {
    await inDirectory(async (root) => {
      const constraints = { max_accuracy_drop: 1 };
      const few = world({ max_trials, max_full_evaluations: 8, constraints });
      await run(few);
      await using store = await recordedStore(root, few.records);
      const sql = "SELECT trials, spearman, spearman_low FROM rung_agreement";
      const { rows } = await store.query(sql);
      assert.ok(rows.length > 0);
      const wanted = { trials: max_trials, spearman: null, spearman_low: null };
      for (const row of rows) assert.deepEqual({ ...row, trials: Number(row["trials"]) }, wanted);
    });
  }
});

Deno.test("the report shows it with advice; with two trials it says nothing", async () => {
  const text = async (of: typeof w, id: string) => {
    const view = await buildView(id, of.records, () => Promise.resolve(null));
    return renderMarkdown(studyReport(view, { svg: "", file: "pareto.svg" }, ""));
  };
  const report = await text(w, study_id);
  assert.match(report, /## How well each rung orders the trials/);
  assert.ok(report.includes(ladderAdvice(found, spec)!.slice(0, 40)));
  const few = world({ max_trials: 2 });
  const short = await run(few);
  assert.doesNotMatch(await text(few, short.study_id), /How well each rung/);
  assert.equal(ladderAdvice(rungAgreements(short.trials, spec), spec), null);
});

Deno.test("the advice names the cheapest rung that surely orders, else that none does yet", () => {
  const order = Array.from({ length: 20 }, (_, i) => i);
  const rung = (fidelity: string, metric: string, b: number[]) => ({
    fidelity,
    metric,
    ...rankAgreement(order, b),
  });
  const mixed = order.map((i) => (i * 7) % 20);
  const sure = [rung("proxy", "accuracy", mixed), rung("proxy", "flips", order)];
  assert.match(ladderAdvice(sure, spec)!, /^flips on the rung proxy \(rank correlation 1\.00/);
  assert.match(ladderAdvice([sure[0]!], spec)!, /^No rung orders .* accuracy on the rung proxy/);
});

/** A study whose rung of text orders its trials as its full evaluation does, or at random. */
async function earlierStudy(store: Store, study_id: string, orders: boolean): Promise<void> {
  const strategies = [8, 4, 2].flatMap((bits) =>
    [32, 64].flatMap((group_size) =>
      [true, false].map((symmetric) => ({
        actions: [{
          ...{ agent: "shrinking", method: "round" },
          params: { bits, group_size, symmetric, targets: "both" },
        }],
      }))
    )
  );
  const own = world(
    {
      ...{ strategies, samples: { kl: 6 }, gates: { kl: 5 }, max_trials: 12 },
      ...{ max_full_evaluations: 40, constraints: { max_accuracy_drop: 1 } },
    },
    {
      samples: { kl: 60, proxy: 100, full: 400 },
      loss: (bits, actions, rung) =>
        rung === "proxy"
          ? 0.1
          : 0.02 * (16 - bits) + 0.01 * Number(actions[0]?.params["symmetric"] ?? 0),
      kl: (bits) => orders ? 0.1 * (16 - bits) : 0.1 + bits % 3,
    },
  );
  await run(own, { study_id });
  await Promise.all(own.records.map((record) => store.record(record)));
}

Deno.test("the ladder is chosen by what an earlier study's rungs showed, and says by which", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const { facts, request } = w.input();
    const asked = { ...request, samples: { ladder: "earlier" as const, full: 300 } };
    const recorded = { current: () => Promise.resolve(store) };
    const choose = () => withEarlierLadder(asked, facts, "new", recorded);
    const none = await choose();
    assert.deepEqual(none.request.samples, { full: 300 });
    assert.match(none.assumptions[0]!.reason, /no earlier study of .* has trials enough/);
    assert.deepEqual(await withEarlierLadder(request, facts, "new", recorded), {
      ...{ request, assumptions: [] },
    });
    await earlierStudy(store, "random", false);
    await store.flush();
    const random = await choose();
    assert.deepEqual(random.request.samples, { full: 300 });
    assert.match(random.assumptions[0]!.reason, /no rung of an earlier study surely orders/);
    await earlierStudy(store, "ordered", true);
    await store.flush();
    const chosen = await choose();
    assert.deepEqual(chosen.request.samples, { kl: 6, full: 300 });
    const [{ field, value, reason }] = chosen.assumptions as [Assumption];
    assert.deepEqual([field, value], ["samples", "kl=6 first"]);
    assert.match(
      reason,
      /^in ordered, KL to the original on the rung kl ordered \d+ trials as .* 95 %/,
    );
    const other = { ...facts, dataset: { ...facts.dataset, dataset: "other" } };
    const apart = await withEarlierLadder(asked, other, "new", recorded);
    assert.deepEqual(apart.request.samples, { full: 300 }, "of other data nothing is known");
  }));

Deno.test("where answers order trials, their cheapest rung is the first, with its samples", () => {
  const seen = (fidelity: string, height: number, low: number): SeenAgreement => ({
    ...{ fidelity, metric: "accuracy", n: 12, spearman: 0.9, interval: [low, 0.97], samples: 300 },
    ...{ height, counts: { words: 100 * (height + 1), texts: null } },
  });
  const ladder = ladderByAgreement([
    seen("half", 1, 0.8),
    seen("proxy", 0, 0.6),
    seen("full", 2, 1),
  ]);
  assert.deepEqual(ladder!.samples, { by_task: { words: { proxy: 100 } } });
  const higher = ladderByAgreement([seen("half", 1, 0.8), seen("proxy", 0, 0.3)]);
  assert.deepEqual(higher!.samples, { by_task: { words: { proxy: 200 } } });
  assert.match(higher!.reason, /accuracy on the rung half ordered 12 trials/);
  assert.equal(ladderByAgreement([seen("proxy", 0, 0.4), seen("full", 2, 1)]), null);
});
