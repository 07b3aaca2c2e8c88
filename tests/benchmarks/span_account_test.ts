import assert from "node:assert/strict";
import type { JournalRecord, Span, Trial } from "../../core/mod.ts";
import { accountOf, stagesOf, totals, wallSeconds } from "./span_account.ts";

const span = (name: string, seconds: number, library = false): Span => ({ name, seconds, library });

const at = (second: number) => new Date(1_700_000_000_000 + second * 1000).toISOString();

/** Records and trials as the account reads them: type, time and spans are all it looks at. */
function record(type: JournalRecord["type"], second: number, more: object = {}): JournalRecord {
  return { type, at: at(second), study_id: "s", ...more } as unknown as JournalRecord;
}

function trial(...spans: Span[]): Trial {
  return { trial_id: "s/t01", spans } as unknown as Trial;
}

const APPLY = [span("start", 1), span("read", 2), span("quantize", 40, true), span("write", 3)];
const VERIFY = [
  span("start", 1),
  span("import", 2, true),
  span("verify", 3),
  span("load", 1, true),
  span("generate", 1, true),
];
const EVALUATE = [span("start", 1), span("load", 4, true), span("evaluate", 20, true)];
const EXPORT = [span("start", 1), span("import", 4, true), span("export", 10, true)];
const PROVE = [span("start", 1), span("load", 2, true), span("prove", 3, true)];
const SPEED = [span("start", 1), span("load", 2, true), span("wait", 5), span("speed", 6, true)];

Deno.test("stagesOf() tells the processes of a trial apart by what only they do", () => {
  const stages = stagesOf([
    ...APPLY,
    ...VERIFY,
    ...EVALUATE,
    ...EXPORT,
    ...PROVE,
    ...SPEED,
    span("loop", 9),
  ]);
  assert.deepEqual(stages.map(({ stage }) => stage), [
    "apply",
    "verify",
    "evaluate",
    "export",
    "prove",
    "speed",
  ]);
  const [made, proved] = stagesOf([
    ...[span("start", 1), span("write_gguf", 4)],
    ...[span("start", 1), span("logits", 3, true)],
  ]);
  assert.deepEqual([made!.stage, proved!.stage], ["make", "prove"]);
  assert.ok(stages.every(({ spans }) => spans.every(({ name }) => name !== "loop")));
});

Deno.test("accountOf() puts every second of a study in one place", () => {
  const records = [
    record("study_opened", 0),
    record("study_closed", 130),
  ];
  const spans = [...APPLY, ...VERIFY, ...EVALUATE, ...EXPORT, ...PROVE, ...SPEED];
  const account = accountOf(records, [trial(...spans, span("loop", 4))]);
  assert.equal(account.total, 130);
  assert.equal(account.library, 40 + 4 + 20 + 2 + 6);
  assert.equal(account.verification, 8 + 6, "its process, and the proof's");
  assert.equal(account.exported, 15);
  assert.equal(account.outside, 130 - 72 - 14 - 15);
  assert.equal(account.share, 29 / (130 - 14));
  const parts = account.parts.reduce((sum, { seconds }) => sum + seconds, 0);
  assert.ok(Math.abs(parts - account.outside) < 1e-9, "the parts are the whole");
  assert.deepEqual(account.parts.find(({ name }) => name === "speed: wait"), {
    name: "speed: wait",
    seconds: 5,
  });
  assert.equal(account.libraries[0]?.name, "apply: quantize");
});

Deno.test("wallSeconds() leaves out the time between a stop and its resumption", () => {
  const records = [
    record("study_opened", 0),
    record("trial_closed", 100),
    record("study_resumed", 5000),
    record("study_closed", 5030),
  ];
  assert.equal(wallSeconds(records), 130);
  assert.equal(wallSeconds([]), 0);
});

Deno.test("a process that ended before its first step is the study's own time", () => {
  const records = [record("study_opened", 0), record("study_closed", 10)];
  const account = accountOf(records, [trial(span("start", 2), span("import", 3, true))]);
  assert.equal(account.verification, 0);
  assert.equal(account.outside, 10 - 3);
  assert.deepEqual(account.parts.map(({ name }) => name), ["in no span", "broken: start"]);
});

Deno.test("totals() adds up equal names, the largest first", () => {
  const parts = [{ name: "a", seconds: 1 }, { name: "b", seconds: 2 }, { name: "a", seconds: 3 }];
  assert.deepEqual(totals(parts), [{ name: "a", seconds: 4 }, { name: "b", seconds: 2 }]);
});
