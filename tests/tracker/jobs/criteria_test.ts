import assert from "node:assert/strict";
import { judgeCriterion, readCriterion } from "../../../tracker/jobs/queue/criteria.ts";
import type { Store } from "../../../tracker/store/store.ts";

/** A store that answers one row, whatever it is asked. */
const answering = (row: Record<string, unknown> | undefined) =>
  ({ ask: () => Promise.resolve(row === undefined ? [] : [row]) }) as unknown as Store; // all that is asked

const judge = (text: string, row?: Record<string, unknown>) =>
  judgeCriterion(answering(row), "study", readCriterion(text));

Deno.test("a criterion is read as a person writes it, and refused in a sentence", () => {
  assert.deepEqual(readCriterion("accuracy drop decided ≤ 0.02").parsed, {
    ...{ measure: "accuracy drop", decided: true, goal: "<=", limit: 0.02 },
  });
  assert.deepEqual(readCriterion("accuracy drop <= 2 %").parsed!["limit"], 0.02);
  assert.deepEqual(readCriterion("latency < 12").parsed!["goal"], "<");
  for (
    const [text, sentence] of [
      ["acuracy drop <= 1", /Unknown measure "acuracy drop"\. Did you mean "accuracy drop"/],
      ["latency decided <= 12", /no interval is kept of latency; leave "decided" out/],
      ["be good", /Cannot take the success criterion "be good": write a measure/],
      ["latency <= fast", /Cannot take the success criterion/],
    ] as const
  ) {
    assert.throws(() => readCriterion(text), sentence);
  }
});

Deno.test("decided means the whole interval; without it the value itself decides", async () => {
  const row = { trial_id: "s/t02", value: 0.01, low: -0.01, high: 0.03 };
  const verdict = async (text: string) => (await judge(text, row)).verdict;
  assert.equal(await verdict("accuracy drop <= 0.02"), "met");
  assert.equal(await verdict("accuracy drop decided <= 0.02"), "undecided");
  assert.equal(await verdict("accuracy drop decided <= 0.03"), "met");
  assert.equal(await verdict("accuracy drop decided <= -0.02"), "not_met");
  assert.equal(await verdict("accuracy drop <= 0.005"), "not_met");
  const { reason } = await judge("accuracy drop decided <= 0.02", row);
  assert.equal(reason, "accuracy drop of s/t02 is 0.01 (-0.01 to 0.03)");
});

Deno.test("of a benchmark that was asked whole the difference itself decides, as in the study's own verdict", async () => {
  const row = { trial_id: "s/t02", exact: true, value: 0.01, low: -0.0215, high: 0.0413 };
  assert.equal((await judge("accuracy drop decided <= 0.02", row)).verdict, "met");
  assert.equal((await judge("accuracy drop decided <= 0.005", row)).verdict, "not_met");
  // Of a latency the same word of the row says nothing.
  assert.equal((await judge("latency ratio decided <= 0.02", row)).verdict, "undecided");
});

Deno.test("no recommendation meets nothing, and what was not measured is undecided", async () => {
  assert.deepEqual(await judge("size ratio <= 0.4"), {
    verdict: "not_met",
    reason: "study recommends no trial",
  });
  const none = { trial_id: "s/t01", value: null, low: null, high: null };
  assert.equal((await judge("latency ratio <= 0.5", none)).verdict, "undecided");
  const bare = { trial_id: "s/t01", value: 0.4, low: null, high: null };
  assert.equal((await judge("latency ratio decided <= 0.5", bare)).verdict, "undecided");
});
