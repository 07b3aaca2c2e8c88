/** What the loop of doors found, without its length: the suite's own hour is `deno task faults`. */
import assert from "node:assert/strict";
import { UsageError } from "../../core/mod.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { ATTACKS } from "./doors/attacks.ts";
import { mutate } from "./doors/mutate.ts";
import { doors } from "./loops/doors.ts";
import { streamRandom } from "../../core/random.ts";

Deno.test("what would change a terminal is shown as its code in every refusal, and a name ends", () => {
  const { message } = new UsageError('Unknown name "\u001b]0;x\u0007\u202egnp"\nand a line');
  assert.equal(message, 'Unknown name "\\u001b]0;x\\u0007\\u202egnp"\nand a line');
  assert.equal(new UsageError("x".repeat(1e6)).message.length, 4_000);
});

Deno.test("the same seed makes the same damage, and damage is damage", () => {
  const seed = new TextEncoder().encode('{"a": [1, 2.5, "b"], "c": null}');
  const made = (n: number) => mutate(seed, true, streamRandom(n, "x"));
  for (let n = 0; n < 50; n++) assert.deepEqual(made(n), made(n));
  const same = Array.from({ length: 200 }, (_, n) => made(n)).filter((one) =>
    new TextDecoder().decode(one) === new TextDecoder().decode(seed)
  );
  assert.ok(same.length < 20, `${same.length} of 200 are not damaged`);
});

/** Fast ones that hung, filled the memory, left the folder or ended in a stack. */
const QUICK = [
  ...["a billion words by aliases", "a view without end in a table's place"],
  ...["a version without end", "a task that names a file elsewhere"],
];

Deno.test("doors end in a result or a sentence: made files, and the first that are drawn", async () => {
  await using walk = await doors.open(1, temporaryFolder("doors"));
  for (const [point, { name, side }] of ATTACKS.entries()) {
    const linked = name === "a pipe" || name === "a link to a device";
    if (side === "deno" && (QUICK.includes(name) || linked)) await walk.at(point);
  }
  for (let point = ATTACKS.length; point < ATTACKS.length + 100; point++) await walk.at(point);
});
