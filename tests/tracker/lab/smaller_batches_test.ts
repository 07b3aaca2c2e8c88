/** Memory that runs out, really: a worker that may have so much asks for more the larger its batch is. */
import assert from "node:assert/strict";
import { inSmallerBatches } from "../../../tracker/lab/runner/machine/smaller_batches.ts";
import { runScripted } from "../../python-backends/scripted_worker.ts";

/** A call that takes 200 MB for each item of its batch where `most` MB may be taken. */
function taking(batch_size: number, most: number): string {
  return `
import resource
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + ${most} * 10**6,) * 2)
held = bytearray(${batch_size} * 200 * 10**6)
raise CallFailure("invalid", "it fits")`;
}

async function evaluated(most: number) {
  const sizes: number[] = [];
  const told: string[] = [];
  const outcome = await inSmallerBatches(
    { batch_size: 16 },
    ({ batch_size }) => {
      sizes.push(batch_size);
      return runScripted(taking(batch_size, most));
    },
    ({ condition, evidence, action, outcome }) => {
      assert.equal(condition, "out_of_memory");
      assert.match(evidence, /out of memory/);
      told.push(`${action}: ${outcome}`);
      return Promise.resolve();
    },
  );
  return { outcome, sizes, told };
}

Deno.test("an evaluation that runs out of memory is run with half the batch, until it fits", async () => {
  const { outcome, sizes, told } = await evaluated(1000);
  assert.deepEqual(sizes, [16, 8, 4]);
  assert.ok(!outcome.ok && outcome.failure.message === "it fits", JSON.stringify(outcome));
  assert.deepEqual(told, [
    "evaluated again in batches of 8, half as many as before: evaluate ended: out_of_memory",
    "evaluated again in batches of 4, half as many as before: evaluate ended: invalid",
  ]);
});

Deno.test("where one at a time does not fit either, memory ran out", async () => {
  const { outcome, sizes } = await evaluated(100);
  assert.deepEqual(sizes, [16, 8, 4, 2, 1]);
  assert.ok(!outcome.ok && outcome.failure.kind === "out_of_memory");
});
