import assert from "node:assert/strict";
import { type Facts, setWorkers, threadsOf, workersOf } from "../../core/mod.ts";
import { request, smallFacts } from "./spec_fixtures.ts";

const machine = (device: Partial<Facts["device"]>): Facts => {
  const facts = smallFacts();
  return { ...facts, device: { ...facts.device, free_memory_gb: 64, ...device } };
};

Deno.test("auto takes a worker a GPU, or one for every four cores, as far as memory holds them", () => {
  const auto = (device: Partial<Facts["device"]>) =>
    workersOf({ workers: "auto" }, machine(device));
  assert.deepEqual([1, 2, 4, 8, 16, 64].map((cores) => auto({ cores })), [1, 2, 2, 2, 4, 16]);
  assert.equal(auto({ device: "cuda", cores: 64, gpus: 8 }), 8);
  assert.equal(auto({ device: "cuda", cores: 64 }), 1, "an old record knows of one");
  assert.equal(auto({ cores: 64, free_memory_gb: 5 }), 2);
  assert.equal(auto({ cores: 64, free_memory_gb: 0.1 }), 1, "the baseline is refused by itself");
});

Deno.test("more workers than there is room for are refused in a sentence", () => {
  const asked = (workers: number, device: Partial<Facts["device"]>) => () =>
    workersOf({ workers }, machine(device));
  assert.throws(
    asked(3, { cores: 2 }),
    /^UsageError: Cannot run 3 workers as this machine has 2 cores and each takes one at least: give --workers 2 or less$/,
  );
  assert.throws(asked(2, { device: "cuda", gpus: 1 }), /this machine has 1 GPU and each/);
  assert.throws(
    asked(2, { cores: 4, free_memory_gb: 2 }),
    /each holds a model of about .* GB are free/,
  );
  assert.equal(asked(2, { cores: 2 })(), 2);
  assert.equal(workersOf({}, machine({ cores: 1, free_memory_gb: 0.1 })), 1);
});

Deno.test("a study that is set up has a number, and its workers equal parts of the cores", () => {
  assert.equal(setWorkers(request({})), 1);
  assert.equal(setWorkers(request({ workers: 3 })), 3);
  const threads = (workers: number, cores: number) => threadsOf(workers, machine({ cores }));
  assert.deepEqual([threads(2, 8), threads(3, 8), threads(4, 2)], [4, 2, 1]);
  assert.throws(() => request({ workers: 0 }));
});
