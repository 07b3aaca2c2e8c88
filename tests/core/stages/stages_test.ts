/** A staged run: gates, retries, roll back, and the ladder, by the ledger that it leaves. */
import assert from "node:assert/strict";
import { UsageError } from "../../../core/mod.ts";
import {
  ledgerOf,
  round,
  runWorld,
  shipped,
  type StagesOptions,
  stagesWorld,
  story,
} from "./stages_world.ts";

Deno.test("stages that pass are climbed in their order, and the last of them is shipped", async () => {
  const w = stagesWorld({}, { loss: () => 0 });
  const { stop, message, trials } = await runWorld(w);
  assert.deepEqual(story(w), ["first 1 advance", "second 1 advance", "second 0 ship"]);
  assert.equal(stop, "staged");
  assert.match(message, /What second left is shipped/);
  assert.deepEqual(trials.map(({ state }) => state), ["completed", "completed", "completed"]);
  const [first, second] = ledgerOf(w).filter(({ decision }) => decision === "advance");
  assert.deepEqual([first!.from_artifact, second!.from_artifact], ["base", first!.to_artifact]);
  assert.equal(shipped(w), second!.to_artifact);
  assert.equal(
    w.records.findLast(({ type }) => type === "study_closed")?.type === "study_closed" &&
      trials.at(-1)!.trial_id,
    "study/t02",
  );
  const baselines = w.calls.filter(({ recipe, call }) => recipe === "base" && call === "evaluate");
  assert.equal(baselines.length, 3, "the baseline is measured once on each rung");
});

Deno.test("a stage that fails gives back its parent, byte for byte, and what passed is shipped", async () => {
  const w = stagesWorld({}, { loss: (bits) => bits === 4 ? 0.12 : 0 });
  await runWorld(w);
  assert.deepEqual(story(w), ["first 1 advance", "second 1 roll_back", "first 0 ship"]);
  const [advance, back] = ledgerOf(w).filter(({ about }) => about === "attempt");
  assert.equal(back!.to_artifact, advance!.to_artifact);
  assert.notEqual(back!.from_artifact, advance!.to_artifact);
  assert.match(
    back!.reason,
    /retention of words is 0\.911 .*below 0\.95.*no adjustment is declared/,
  );
  assert.equal(shipped(w), advance!.to_artifact);
});

Deno.test("a first stage that fails ships the original", async () => {
  const w = stagesWorld({}, { loss: (bits) => bits === 16 ? 0 : 0.12 });
  const { message } = await runWorld(w);
  assert.deepEqual(story(w), ["first 1 roll_back", "original 0 ship"]);
  assert.equal(shipped(w), "base");
  assert.match(message, /No stage passed: the original/);
});

const adjusting = (bits: number) => ({
  stages: [
    { name: "first", actions: [round(8)] },
    {
      name: "second",
      actions: [round(2)],
      adjustments: [{ below: 0.95, set: { bits }, reason: "more bits" }],
    },
  ],
});

Deno.test("one retry with its adjustment: it may pass, and it may fail for good", async () => {
  const loss = (bits: number) => bits <= 3 ? 0.12 : 0;
  const w = stagesWorld(adjusting(4), { loss });
  await runWorld(w);
  assert.deepEqual(story(w), [
    "first 1 advance",
    "second 1 retry",
    "second 2 advance",
    "second 0 ship",
  ]);
  const retry = ledgerOf(w).find(({ decision }) => decision === "retry")!;
  assert.deepEqual(retry.adjustment, { bits: 4 });
  const twice = stagesWorld(adjusting(3), { loss });
  await runWorld(twice);
  const back = ledgerOf(twice).find(({ decision }) => decision === "roll_back")!;
  assert.match(back.reason, /all 2 attempts have failed/);
  assert.deepEqual(story(twice).slice(1), [
    "second 1 retry",
    "second 2 roll_back",
    "first 0 ship",
  ]);
});

Deno.test("a stage that may be left out is skipped, and the next is applied to what stands", async () => {
  const stages = [
    { name: "first", actions: [round(3)], when_failed: "next" as const },
    { name: "second", actions: [round(4)] },
  ];
  const w = stagesWorld({ stages }, { loss: (bits) => bits === 3 ? 0.12 : 0 });
  await runWorld(w);
  assert.deepEqual(story(w), ["first 1 skip", "second 1 advance", "second 0 ship"]);
  const advance = ledgerOf(w).find(({ decision }) => decision === "advance")!;
  assert.equal(advance.from_artifact, "base");
});

Deno.test("a critical failure ends the run at once, without the retry that is declared", async () => {
  const w = stagesWorld(adjusting(4), { loss: (bits) => bits === 2 ? 0.6 : 0 });
  await runWorld(w);
  assert.deepEqual(story(w), ["first 1 advance", "second 1 abort", "original 0 ship"]);
  const again = stagesWorld({ ...adjusting(4), critical: { retry: true } }, {
    loss: (bits) => bits === 2 ? 0.6 : 0,
  });
  await runWorld(again);
  assert.equal(story(again)[2], "second 2 advance");
});

Deno.test("a critical failure gives back the original, or what had passed where the document says so", async () => {
  const options = { loss: (bits: number) => bits === 2 ? 0.6 : 0 };
  const strict = stagesWorld(adjusting(4), options);
  const { message } = await runWorld(strict);
  assert.equal(shipped(strict), "base");
  assert.match(message, /A critical failure of second .* though first \(study\/t01\) had passed/);
  const abort = ledgerOf(strict).find(({ decision }) => decision === "abort")!;
  assert.equal(abort.to_artifact, "base");
  assert.match(abort.reason, /original is what critical\.ships says is shipped then$/);
  const kept = stagesWorld({ ...adjusting(4), critical: { ships: "passed" } }, options);
  await runWorld(kept);
  const first = ledgerOf(kept).find(({ decision }) => decision === "advance")!;
  assert.equal(shipped(kept), first.to_artifact);
});

Deno.test("the best that passed is shipped, not the last: by levels of success, then by bytes", async () => {
  const grown: StagesOptions["made"] = (artifact, parent, { params }) =>
    params["bits"] === 4 ? { ...artifact, size_bytes: parent.size_bytes + 1 } : artifact;
  const options = { loss: () => 0, made: grown };
  const w = stagesWorld({ larger: "passes" }, options);
  await runWorld(w);
  assert.deepEqual(story(w).slice(1), ["second 1 advance", "first 0 ship"]);
  assert.match(
    ledgerOf(w).at(-1)!.reason,
    /second passed later and has \d+ bytes in place of \d+$/,
  );
  const last = stagesWorld({ larger: "passes", ships: "last" }, options);
  await runWorld(last);
  assert.equal(story(last).at(-1), "second 0 ship");
  const loss = (bits: number) => bits === 4 ? 0.02 : 0;
  const stages = [8, 4].map((bits) => ({ name: `at_${bits}`, actions: [round(bits)], core: 0.5 }));
  const levelled = stagesWorld({ stages, levels: { minimum: { core: 0.999 } } }, { loss });
  await runWorld(levelled);
  assert.equal(story(levelled).at(-1), "at_8 0 ship", "the smaller one misses the level");
  assert.match(ledgerOf(levelled).at(-1)!.reason, /reaches 0 levels of success in place of 1$/);
});

Deno.test("an undecided gate takes more samples to the cap, then decides by the estimate", async () => {
  const w = stagesWorld({ stages: [{ name: "one", actions: [round(3)] }] }, {
    loss: (bits) => bits === 3 ? 0.03 : 0,
  });
  await runWorld(w);
  const rungs = w.calls.filter(({ call, trial_id }) =>
    call === "evaluate" && trial_id.endsWith("t01")
  )
    .map(({ fidelity }) => fidelity);
  assert.deepEqual(rungs, ["proxy", "half", "full"]);
  const core = ledgerOf(w).find(({ about }) => about === "core")!;
  assert.deepEqual([core.by_estimate, core.samples], [true, 200]);
  assert.match(core.reason, /no more samples may be taken, the estimate decides/);
  assert.ok(core.interval![0] < 0.95 && core.interval![1] > 0.95);
  assert.ok(ledgerOf(w).every(({ decision }) => decision !== "undecided"));
  const sure = stagesWorld({ stages: [{ name: "one", actions: [round(3)], core: 0.5 }] }, {
    loss: () => 0,
  });
  await runWorld(sure);
  const taken = sure.calls.filter(({ call, trial_id }) =>
    call === "evaluate" && trial_id.endsWith("t01")
  );
  assert.equal(taken.length, 1, "a gate that is decided takes no more samples");
});

Deno.test("a stage that takes the place of what stands is applied to the original", async () => {
  const stages = [
    { name: "first", actions: [round(8)] },
    { name: "second", actions: [round(4)], onto: "original" as const },
  ];
  const w = stagesWorld({ stages }, { loss: () => 0 });
  await runWorld(w);
  const last = w.records.findLast(({ type }) => type === "trial_closed");
  assert.ok(last?.type === "trial_closed");
  assert.equal(last.trial.actions.length, 1);
  const advance = ledgerOf(w).findLast(({ decision }) => decision === "advance")!;
  assert.match(advance.from_artifact!, /"bits":8/);
});

Deno.test("what the requirement says in two ways is said to be chosen", async () => {
  const w = stagesWorld({ edge_of_chaos: {} });
  await runWorld(w);
  const [opened] = w.records;
  assert.ok(opened?.type === "study_opened");
  const said = opened.spec.assumptions.filter(({ field }) => field.startsWith("stages."));
  assert.deepEqual(said.map(({ field }) => field), [
    "stages.retention_of",
    "stages.against",
    "stages.core",
    "stages.critical.retry",
    "stages.critical.ships",
    "stages.edge_of_chaos.fails",
    "stages.ships",
    "stages.larger",
  ]);
});

Deno.test("an adjustment that no attempt could take is refused before anything runs", async () => {
  const wrong = (adjustment: object) =>
    stagesWorld({
      stages: [{ name: "one", actions: [round(3)], adjustments: [adjustment] }],
    });
  for (
    const [adjustment, pattern] of [
      [{ set: { bitz: 4 } }, /Stage one: .*Did you mean "bits"/],
      [{ scale: { targets: 2 } }, /Stage one: Cannot scale targets/],
      [{ action: 1, set: { bits: 4 } }, /Stage one: Cannot adjust action 1/],
    ] as const
  ) {
    const w = wrong(adjustment);
    await assert.rejects(
      runWorld(w),
      (error: unknown) => error instanceof UsageError && pattern.test(error.message),
    );
    assert.deepEqual(w.records, []);
  }
});
