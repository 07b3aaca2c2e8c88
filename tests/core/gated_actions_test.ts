/** A study that gates quality after every action of a chain. */
import assert from "node:assert/strict";
import { chained, foretold } from "./recovery_world.ts";

Deno.test("each action has a gate of quality where the study asks for it, the last one alone elsewhere", async () => {
  const of = async (asked: boolean) => {
    const { trial } = await chained(asked, "heal", "tune");
    return trial.gates.map(({ gate, action_index, decision }) =>
      `${action_index} ${gate} ${decision}`
    );
  };
  const first = ["0 verification pass"];
  const rest = ["1 verification pass", "1 proxy_accuracy pass"];
  assert.deepEqual(await of(true), [...first, "0 proxy_accuracy pass", ...rest]);
  assert.deepEqual(await of(false), [...first, ...rest]);
});

Deno.test("a loss that nothing behind it can win back ends the chain there, before its next action", async () => {
  const { w, trial } = await chained(true, "thin", "tune");
  assert.equal(trial.state, "stopped");
  assert.deepEqual(trial.artifact_ids.length, 1);
  assert.equal(trial.gates.at(-1)?.decision, "abort");
  assert.ok(w.calls.every(({ call, recipe }) => call !== "apply" || !recipe.includes("tune")));
});

Deno.test("a loss that a later action is there to win back is told, and its own gate decides", async () => {
  const { w, trial } = await chained(true, "thin", "heal", "tune");
  assert.equal(trial.state, "completed");
  const told = trial.gates.find(({ action_index, gate }) =>
    action_index === 0 && gate === "proxy_accuracy"
  )!;
  assert.equal(told.decision, "pass");
  assert.match(told.reason, /above 0\.05: heal is still to win it back$/);
  assert.ok(told.value! > 0.4);
  const indices = w.records.flatMap((one) =>
    one.type === "action_evaluated" ? [one.action_index] : []
  );
  assert.deepEqual(indices, [0, 1]);
  assert.deepEqual(
    trial.spans.filter(({ phase }) => phase === "apply").map(({ action_index }) => action_index),
    [0, 1, 2],
  );
});

Deno.test("a study that gates every action foretells an evaluation after each", async () => {
  const [plain, gated] = [
    await foretold(false, "heal", "tune"),
    await foretold(true, "heal", "tune"),
  ];
  assert.ok(plain.proxy > 0);
  assert.ok(Math.abs(gated.seconds - plain.seconds - plain.proxy) < 1e-9);
  const [one, alone] = [await foretold(false, "tune"), await foretold(true, "tune")];
  assert.equal(one.seconds, alone.seconds);
});
