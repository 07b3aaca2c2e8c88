import assert from "node:assert/strict";
import { failureLines, lastBegun } from "./failures.ts";

const part = (name: string, failed: number, output: string) => ({
  name,
  output,
  seconds: 1,
  counts: { passed: 0, failed },
});

Deno.test("what failed is named once, in deno's words, pytest's, or by its part", () => {
  const deno = `adds ... FAILED (1s)

 ERRORS

adds => ./tests/sum_test.ts:3:6
error: AssertionError

 FAILURES

\x1b[1madds\x1b[0m => ./tests/sum_test.ts:3:6

FAILED | 1 passed | 1 failed (1s)`;
  const pytest = "FAILED tests/test_grid.py::test_pack - AssertionError: 3\n1 failed in 2.0s";
  assert.deepEqual(
    failureLines([
      part("tests/sum_test.ts", 1, deno),
      part("tests/fine_test.ts", 0, "fine => ./tests/fine_test.ts:1:1"),
      part("python", 1, pytest),
      part("types", 1, "error: TS2322\nFAILED: types"),
    ]),
    [
      "failed: adds => ./tests/sum_test.ts:3:6",
      "failed: FAILED tests/test_grid.py::test_pack - AssertionError: 3",
      "failed: types",
    ],
  );
});

Deno.test("lastBegun() names the test that a run was ended in", () => {
  const output = [
    ...["running 2 tests from ./tests/a_test.ts", "adds ... ok (3ms)"],
    ...["waits ...'waits' has been running for over (1m0s)", "  a step ... ok (1ms)"],
  ].join("\n");
  assert.equal(lastBegun(output), "tests/a_test.ts::waits");
  assert.equal(lastBegun("Check file:///tests/a_test.ts\n"), null);
});
