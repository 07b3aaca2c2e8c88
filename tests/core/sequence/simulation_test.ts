/** Verdicts of simulated studies: at most 5 % wrong, after as many samples as the reference's. */
import assert from "node:assert/strict";
import {
  judgeSequence,
  pairedSequence,
  sampleKey,
  sampleOrder,
  type SampleResult,
  streamRandom,
} from "../../../core/mod.ts";
import {
  bySequence,
  DROPS,
  LIMIT,
  MOST_WRONG,
  simulate,
} from "../../benchmarks/deciding/simulate.ts";
import { rounds, WHOLE_CAMPAIGN } from "../../fixtures/campaign.ts";

/** Medians of 10,000 studies at 10 % flips, 5,000 samples, by another generator and program. */
const MEDIANS = [1300, 3050, 5000, 3000, 650, 150];

Deno.test("at six true drops at most 5 % of the verdicts are wrong, and none stays open", () => {
  const studies = rounds(100, 10_000);
  const population = rounds(1000, 5000);
  for (const [i, drop] of DROPS.entries()) {
    const setting = { population, flips: 0.1, drop };
    const { own } = simulate(setting, LIMIT, studies, 20261122 + i, { own: bySequence(LIMIT) });
    assert.equal(own!.decided, 1, "all of a benchmark decides");
    assert.ok(own!.wrong <= MOST_WRONG + (WHOLE_CAMPAIGN ? 0 : 0.05), `${drop}: ${own!.wrong}`);
    if (!WHOLE_CAMPAIGN) continue;
    const away = Math.abs(own!.median - MEDIANS[i]!);
    assert.ok(away <= 50, `a drop of ${drop} took ${own!.median}, not about ${MEDIANS[i]}`);
  }
});

Deno.test("tasks of other sizes and weights: at most 5 % are wrong about the weighted mean", () => {
  const studies = rounds(20, 2000);
  // Of the small task one in 20 is lost, of the large one none: at equal weights a drop of 0.025.
  const sizes = { small: 160, large: 640 };
  const tasks = Object.entries(sizes).map(([task, available_samples]) => ({
    ...{ task, task_version: "1", primary: true, available_samples },
  }));
  const drop = 0.5 * 8 / 160;
  for (const limit of [drop, drop - 1e-6]) {
    let wrong = 0;
    for (let study = 0; study < studies; study++) {
      const samples = (task: "small" | "large") =>
        Array.from({ length: sizes[task] }, (_, i): SampleResult => ({
          ...{ task, sample_id: String(i), sample_hash: `${study} ${task} ${i}`, prompt_hash: "" },
          ...{ score: 1, answer: null, gold: null, log_likelihood: null },
        }));
      const order = sampleOrder(
        tasks.map((plan) => ({ plan, samples: samples(plan.task as "small" | "large") })),
      );
      const lost = (one: SampleResult) => one.task === "small" && Number(one.sample_id) < 8;
      const scores = new Map(
        order.placed.map(({ sample }) => [sampleKey(sample), lost(sample) ? 0 : 1]),
      );
      const { verdict } = judgeSequence(pairedSequence(order, scores)!.drawn, limit);
      assert.notEqual(verdict, "undecided");
      wrong += verdict === (limit === drop ? "met" : "violated") ? 0 : 1;
    }
    const most = MOST_WRONG + (WHOLE_CAMPAIGN ? 0 : 0.05);
    assert.ok(wrong / studies <= most, `${wrong} of ${studies} at a limit of ${limit}`);
  }
});

/** Parts of which as many are asked each: the small ones lose a quarter, so that a plain mean errs. */
const ROWS = [40, 60, 80, 120, 300, 500, 700, 900];
const ASKED = 40;
const lostOf = (rows: number) => rows < 150 ? rows / 4 : 0;

Deno.test("parts that are asked out of proportion: at most 5 % are wrong at the limit itself, and all are used", () => {
  const studies = rounds(200, 5000);
  const total = ROWS.reduce((sum, one) => sum + one, 0);
  const drop = ROWS.reduce((sum, rows) => sum + lostOf(rows), 0) / total;
  const random = streamRandom(20261125, "parts");
  let violated = 0;
  let met = 0;
  for (let study = 0; study < studies; study++) {
    const samples = ROWS.flatMap((rows) => {
      const left = Array.from({ length: rows }, (_, i) => i);
      return Array.from({ length: ASKED }, (): SampleResult => {
        const [row] = left.splice(Math.floor(random() * left.length), 1);
        return {
          ...{ task: "t", sample_id: String(row), sample_hash: `${study} ${rows} ${row}` },
          ...{ prompt_hash: "", score: 1, answer: null, gold: null, log_likelihood: null },
          ...{ stratum: String(rows), stratum_rows: rows },
        };
      });
    });
    const plan = { task: "t", task_version: "1", primary: true, available_samples: total };
    const order = sampleOrder([{ plan, samples }]);
    const scores = new Map(samples.map((one) => [
      sampleKey(one),
      Number(one.sample_id) < lostOf(Number(one.stratum)) ? 0 : 1,
    ]));
    const sequence = pairedSequence(order, scores)!;
    assert.equal(sequence.n, samples.length);
    if (judgeSequence(sequence.drawn, drop).verdict === "violated") violated++;
    if (judgeSequence(sequence.drawn, drop - 1e-9).verdict === "met") met++;
  }
  const most = MOST_WRONG + (WHOLE_CAMPAIGN ? 0 : 0.03);
  assert.ok(violated / studies <= most, `${violated} of ${studies} said to be beyond`);
  assert.ok(met / studies <= most, `${met} of ${studies} said to be within`);
});
