/** Verdicts of simulated studies: at most 5 % wrong, after as many samples as the reference's. */
import assert from "node:assert/strict";
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
  const studies = rounds(200, 10_000);
  const population = rounds(1000, 5000);
  for (const [i, drop] of DROPS.entries()) {
    const setting = { population, flips: 0.1, drop };
    const { own } = simulate(setting, LIMIT, studies, 20261122 + i, { own: bySequence(LIMIT) });
    assert.equal(own!.decided, 1, "all of a benchmark decides");
    assert.ok(own!.wrong <= MOST_WRONG + (WHOLE_CAMPAIGN ? 0 : 0.03), `${drop}: ${own!.wrong}`);
    if (!WHOLE_CAMPAIGN) continue;
    const away = Math.abs(own!.median - MEDIANS[i]!);
    assert.ok(away <= 50, `a drop of ${drop} took ${own!.median}, not about ${MEDIANS[i]}`);
  }
});
