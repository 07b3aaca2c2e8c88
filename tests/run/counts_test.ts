import assert from "node:assert/strict";
import { addCounts, denoCounts } from "./counts.ts";

Deno.test("denoCounts() reads the last summary, colours or not", () => {
  assert.deepEqual(denoCounts("x ... ok (1ms)\n\nok | 12 passed | 0 failed | 2 ignored (3s)\n"), {
    passed: 12,
    failed: 0,
  });
  const coloured = "\x1b[0m\x1b[31mFAILED\x1b[0m | 4 passed | 1 failed \x1b[38;5;245m(15ms)\x1b[0m";
  assert.deepEqual(denoCounts(coloured), { passed: 4, failed: 1 });
  assert.equal(denoCounts("error: Module not found"), null);
});

Deno.test("addCounts() sums", () => {
  const one = { passed: 1, failed: 2 };
  assert.deepEqual(addCounts([one, one]), { passed: 2, failed: 4 });
});
