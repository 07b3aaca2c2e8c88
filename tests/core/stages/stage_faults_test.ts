/** Whatever a stage does wrong: the ledger tells it, and what is shipped is what was measured. */
import assert from "node:assert/strict";
import type { Failure, StageDecision } from "../../../core/mod.ts";
import { failure } from "../study_world.ts";
import {
  comparable,
  historyOf,
  ledgerOf,
  round,
  runWorld,
  shipped,
  type StagesOptions,
  type StagesWorld,
  stagesWorld,
  story,
} from "./stages_world.ts";

/** The second stage goes wrong in some way: the first is shipped, and the ledger says why. */
async function secondFails(
  options: StagesOptions,
  pattern: RegExp,
  asked = {},
): Promise<StagesWorld> {
  const w = stagesWorld(asked, { loss: () => 0, ...options });
  await runWorld(w);
  const rows = ledgerOf(w);
  const first = rows.find(({ decision }) => decision === "advance")!;
  assert.equal(shipped(w), first.to_artifact);
  const back = rows.find(({ decision }) => decision === "roll_back")!;
  assert.equal(back.to_artifact, first.to_artifact, "back to the parent, the same id");
  assert.match(back.reason, /the same bytes$/);
  assert.match(
    rows.find(({ stage, decision }) => stage === "second" && decision === "failed")!.reason,
    pattern,
  );
  return w;
}

const inSecond =
  (kind: Failure["kind"], call = "apply") => (made: { call: string; recipe: string }) =>
    made.call === call && made.recipe.includes('"bits":4') ? failure(kind) : null;

for (const kind of ["crash", "stall", "disk_full", "out_of_memory"] as const) {
  Deno.test(`a stage that ends by ${kind} is tried again as it was, then rolled back`, async () => {
    const w = await secondFails({ disturb: inSecond(kind) }, new RegExp(`${kind}: the world says`));
    assert.deepEqual(story(w).slice(1, 3), ["second 1 retry", "second 2 roll_back"]);
  });
}

for (const kind of ["not_a_number", "verification", "bad_input"] as const) {
  Deno.test(`a stage that ends by ${kind} would do so again: it is rolled back at once`, async () => {
    const w = await secondFails({ disturb: inSecond(kind) }, new RegExp(`${kind}: `));
    assert.deepEqual(story(w)[1], "second 1 roll_back");
  });
}

Deno.test("a machine that fails once costs an attempt and nothing else", async () => {
  let failures = 0;
  const w = stagesWorld({}, {
    loss: () => 0,
    // The loop itself tries a crash once more: two make an attempt fail.
    disturb: (made) => inSecond("crash")(made) !== null && failures++ < 2 ? failure("crash") : null,
  });
  await runWorld(w);
  assert.deepEqual(story(w).slice(1), ["second 1 retry", "second 2 advance", "second 0 ship"]);
});

Deno.test("a benchmark that fails half-way fails the attempt, never the mean of what is left", async () => {
  await secondFails({ disturb: inSecond("crash", "evaluate") }, /crash: the world says crash/);
});

Deno.test("the parent's weights under a name of its own are no stage", async () => {
  const file = { path: "model.safetensors", bytes: 9, sha256: "same" };
  await secondFails(
    { made: (artifact) => ({ ...artifact, files: [file] }) },
    /holds the weights of its parent .* byte for byte: the stage changed nothing/,
  );
});

Deno.test("another architecture is no stage", async () => {
  await secondFails({
    made: (artifact, _, action) => {
      const { model } = stagesWorld().input().facts;
      const architecture = action.params["bits"] === 4 ? "OtherForCausalLM" : model.architecture;
      return { ...artifact, model: { ...model, architecture } };
    },
  }, /OtherForCausalLM.*another architecture/);
});

const larger: StagesOptions["made"] = (artifact, parent, { params }) =>
  params["bits"] === 4 ? { ...artifact, size_bytes: parent.size_bytes + 1 } : artifact;

Deno.test("a file that is larger than its parent's fails, unless the document lets it pass", async () => {
  await secondFails({ made: larger }, /more than its parent's .* ratios do not multiply/);
  const w = stagesWorld({ larger: "passes", ships: "last" }, { loss: () => 0, made: larger });
  await runWorld(w);
  assert.equal(story(w).at(-1), "second 0 ship");
  const size = ledgerOf(w).findLast(({ about }) => about === "size")!;
  assert.match(size.reason, /more than its parent's .*; the document lets it pass/);
});

Deno.test("what is too large is not tried again with what makes it larger, but with what makes it smaller", async () => {
  const swollen: StagesOptions["made"] = (artifact, parent, { params }) =>
    params["bits"] === 4 ? { ...artifact, size_bytes: parent.size_bytes + 1 } : artifact;
  const second = (adjustments: object[]) => ({
    stages: [
      { name: "first", actions: [round(8)] },
      { name: "second", actions: [round(4)], adjustments },
    ],
  });
  const more = await secondFails(
    { made: swollen },
    /more than its/,
    second([{ set: { bits: 8 } }]),
  );
  assert.deepEqual(story(more)[1], "second 1 roll_back");
  assert.match(
    ledgerOf(more).find(({ decision }) => decision === "roll_back")!.reason,
    /no adjustment is declared that makes it smaller, and the same would come again/,
  );
  const asked = second([{ set: { bits: 8 } }, { set: { bits: 3 } }]);
  const less = stagesWorld(asked, { loss: () => 0, made: swollen });
  await runWorld(less);
  assert.deepEqual(story(less).slice(1), ["second 1 retry", "second 2 advance", "second 0 ship"]);
  const retry = ledgerOf(less).find(({ decision }) => decision === "retry")!;
  assert.deepEqual(retry.adjustment, { bits: 3 });
});

Deno.test("what the machine failed is tried as it was, whatever adjustment is declared", async () => {
  let failures = 0;
  const asked = {
    stages: [
      { name: "first", actions: [round(8)] },
      { name: "second", actions: [round(4)], adjustments: [{ set: { bits: 3 } }] },
    ],
  };
  const w = stagesWorld(asked, {
    loss: () => 0,
    disturb: (made) => inSecond("crash")(made) !== null && failures++ < 2 ? failure("crash") : null,
  });
  await runWorld(w);
  assert.deepEqual(story(w).slice(1, 3), ["second 1 retry", "second 2 advance"]);
  assert.match(shipped(w)!, /"bits":4/);
});

Deno.test("values that are not finite fail it, whatever the evaluation would say", async () => {
  await secondFails({
    made: (artifact, _, { params }) =>
      params["bits"] === 4
        ? {
          ...artifact,
          verification: { ...artifact.verification!, not_finite: "model.layers.0", parts: [] },
          changes: [],
        }
        : artifact,
  }, /not_a_number/);
});

Deno.test("files that have changed or cannot be read are not shipped: the ladder is gone down", async () => {
  for (
    const [found, pattern] of [
      ["other", /have changed: they are other now/],
      ["unreadable", /cannot be read: Input\/output error/],
    ] as const
  ) {
    const w = stagesWorld({}, { loss: () => 0 });
    const second = 'round{"bits":8,"group_size":32,"symmetric":true,"targets":"linear"}+' +
      'round{"bits":4,"group_size":32,"symmetric":true,"targets":"linear"}';
    w.bytes.set(second, found);
    await runWorld(w);
    assert.equal(story(w).at(-1), "first 0 ship");
    const failed = ledgerOf(w).find(({ about, decision }) =>
      about === "shipped" && decision === "failed"
    )!;
    assert.match(failed.reason, pattern);
  }
  const none = stagesWorld({}, { loss: (bits) => bits === 16 ? 0 : 0.5 });
  none.bytes.set("base", "other");
  assert.match((await runWorld(none)).message, /Nothing can be shipped/);
});

Deno.test("no stage is built on files that have changed since their gate, nor after a kill", async () => {
  const second = { ...ASKED.stages[1]!, when_failed: "next" as const };
  const asked = { stages: [ASKED.stages[0]!, second, { name: "third", actions: [round(4)] }] };
  const options: StagesOptions = { loss: (bits) => bits === 2 ? 0.12 : 0 };
  const first = 'round{"bits":8,"group_size":32,"symmetric":true,"targets":"linear"}';
  const whole = stagesWorld(asked, options);
  whole.bytes.set(first, "other");
  await runWorld(whole);
  assert.deepEqual(story(whole), [
    "first 1 advance",
    "second 1 skip",
    "third 1 advance",
    "third 0 ship",
  ]);
  const skipped = ledgerOf(whole).find(({ decision }) => decision === "skip")!;
  assert.match(skipped.reason, /have changed: they are other now; the ladder is gone down to base/);
  assert.equal(skipped.to_artifact, "base");
  assert.equal(shipped(whole), first.replace("8", "4"), "the third is built on the original");
  const again = stagesWorld(asked, options);
  again.bytes.set(first, "other");
  const skip = whole.records.findIndex((one) =>
    one.type === "stages_decided" && one.decisions.some(({ decision }) => decision === "skip")
  );
  await runWorld(again, historyOf(whole, skip + 1));
  assert.equal(shipped(again), shipped(whole));
});

const ASKED = {
  stages: [
    { name: "first", actions: [round(8)] },
    { name: "second", actions: [round(2)], adjustments: [{ set: { bits: 4 } }] },
    { name: "third", actions: [round(3)] },
  ],
};
const LOSS: StagesOptions = { loss: (bits) => bits <= 3 ? 0.12 : 0 };

/** The ledger of a run that ended after so many records and was taken up by another process. */
async function afterKill(whole: StagesWorld, count: number): Promise<StageDecision[]> {
  const again = stagesWorld(ASKED, LOSS);
  const history = historyOf(whole, count);
  await runWorld(again, history);
  return [...history.study.stage_decisions, ...ledgerOf(again)];
}

Deno.test("a run that is killed at any record goes on to the same ledger", async () => {
  const whole = stagesWorld(ASKED, LOSS);
  await runWorld(whole);
  const rows = ledgerOf(whole);
  assert.deepEqual(
    rows.filter(({ about }) => about === "attempt").map((row) => `${row.stage} ${row.decision}`),
    ["first advance", "second retry", "second advance", "third roll_back"],
  );
  const { records } = whole;
  assert.ok(records.length > 40, `${records.length} records`);
  // A figure that is written leaves nothing else to go on from than the record before it.
  const kills = records.flatMap(({ type }, i) => type === "measured" ? [] : [i + 1]);
  for (const count of kills) {
    const found = await afterKill(whole, count);
    assert.deepEqual(comparable(found), comparable(rows), `killed after ${count} records`);
    assert.deepEqual(found.map(({ number }) => number), rows.map((_, i) => i));
  }
});
