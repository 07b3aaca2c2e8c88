import assert from "node:assert/strict";
import { unsafeSentence } from "../../../tracker/show/view/unsafe_code.ts";
import type { StudyView } from "../../../tracker/mod.ts";

type Told = Pick<StudyView, "alerts" | "trials">;

Deno.test("what ran without a sandbox is one sentence with its trials; nothing where nothing did", () => {
  const alert = (trial_id: string, condition: string, evidence: string) => ({
    type: "alert",
    at: "2026-01-01T00:00:00.000Z",
    study_id: "s",
    trial_id,
    condition,
    evidence,
    action: "recorded",
  });
  const trials = [0, 1, 2].map((number) => ({ trial_id: `s/t0${number}`, number }));
  const evidence = "the programs written for mbpp run without a sandbox";
  const view = (alerts: unknown[]) => ({ alerts, trials }) as unknown as Told;
  assert.equal(unsafeSentence(view([alert("s/t00", "empty_answers", "x")])), null);
  const told = [0, 2, 2].map((number) => alert(`s/t0${number}`, "unsafe_code", evidence));
  assert.equal(
    unsafeSentence(view(told)),
    `UNSAFE CODE (--unsafe-code): ${evidence}, in t00, t02.`,
  );
});
