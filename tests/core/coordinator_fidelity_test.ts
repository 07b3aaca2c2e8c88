import assert from "node:assert/strict";
import { run, world } from "./study_world.ts";

const evaluations = (w: ReturnType<typeof world>) =>
  w.calls.filter(({ call }) => call === "evaluate").map(({ fidelity }) => fidelity);

Deno.test("a study of proxies evaluates nothing in full, and no trial is on a front", async () => {
  const w = world({ fidelity: "proxy", max_trials: 4 });
  const { trials, front, recommendation } = await run(w);
  assert.deepEqual(new Set(evaluations(w)), new Set(["proxy"]));
  assert.deepEqual(new Set(trials.map(({ fidelity }) => fidelity)), new Set(["proxy"]));
  assert.ok(trials.every(({ reward }) => reward !== null));
  assert.deepEqual(front, []);
  // Nothing was measured well enough to leave the original for.
  assert.equal(recommendation?.trial_id, trials[0]?.trial_id);
});

Deno.test("a study of full evaluations has no proxy, and its trials are on the front", async () => {
  const w = world({ fidelity: "full", max_trials: 4 });
  const { trials, front } = await run(w);
  assert.deepEqual(new Set(evaluations(w)), new Set(["full"]));
  assert.equal(evaluations(w).length, trials.length);
  assert.ok(front.length > 0);
  const gates = trials.slice(1).flatMap(({ gates }) => gates.map(({ gate }) => gate));
  assert.ok(gates.includes("full_accuracy") && !gates.includes("proxy_accuracy"));
});
