import assert from "node:assert/strict";
import { filesBelow } from "./jobs.ts";
import { needsOf } from "./needs.ts";
import { denoSeconds, pytestSeconds, readSeconds } from "./seconds.ts";
import { ROOT } from "./run_job.ts";

Deno.test("denoSeconds() sums a file's tests, and no step twice", () => {
  const output = [
    "running 2 tests from ./tests/a_test.ts",
    "one ... ok (1m2s)",
    "two ...",
    "  its step ... ok (500ms)",
    "two ... FAILED (1s)",
    "running 1 test from ./tests/b_test.ts",
    "three ... ok (250ms)",
    "ok | 3 passed | 0 failed (1m3s)",
  ];
  assert.deepEqual(denoSeconds(output.join("\n")), {
    "tests/a_test.ts": 63,
    "tests/b_test.ts": 0.3,
  });
});

Deno.test("denoSeconds() counts an end that stands alone to the test, or the step, that began last", () => {
  const output = [
    "running 2 tests from ./tests/long/a.ts",
    "long ...'long' has been running for over (1m0s)",
    " ok (1m10s)",
    "stepped ...",
    "  its step ...'stepped' has been running for over (2m0s)",
    " ok (2m30s)",
    "  its quiet step ... ok (1s)",
    "stepped ... ok (2m31s)",
  ];
  assert.deepEqual(denoSeconds(output.join("\n")), { "tests/long/a.ts": 221 });
});

Deno.test("pytestSeconds() sums calls, set-ups and tear-downs by file", () => {
  const output = "1.50s call     tests/python-backends/test_a.py::test_x[1]\n" +
    "0.30s setup    tests/python-backends/test_a.py::test_y\n0.1s call ../tests/b.py::z";
  assert.deepEqual(pytestSeconds(output), {
    "tests/python-backends/test_a.py": 1.8,
    "tests/b.py": 0.1,
  });
});

Deno.test("the table of seconds names files that are there", async () => {
  const files = [...await filesBelow("tests", ".ts"), ...await filesBelow("tests", ".py")];
  const gone = Object.keys(await readSeconds()).filter((path) => !files.includes(path));
  assert.deepEqual(gone, []);
});

Deno.test("needsOf() finds the environments that a file or what it imports names", () => {
  const needs = (file: string) => needsOf(ROOT, file, ["default", "mlflow", "serve"]);
  assert.deepEqual(needs("tests/run/seconds_test.ts"), []);
  assert.ok(needs("tests/tracker/commands/served_test.ts").includes("serve"));
  assert.ok(needs("tests/tracker/exchange/mlflow/mirror_test.ts").includes("mlflow"));
  assert.ok(!needs("tests/tracker/store/sql_test.ts").includes("serve"));
});
