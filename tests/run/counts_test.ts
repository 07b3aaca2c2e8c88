import assert from "node:assert/strict";
import { execa } from "execa";
import { join } from "node:path";
import { readCounts } from "../../python-backends/checks.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { addCounts, closingLines, denoCounts } from "./counts.ts";

Deno.test("denoCounts() reads the last summary, colours or not", () => {
  assert.deepEqual(denoCounts("x ... ok (1ms)\n\nok | 12 passed | 0 failed (3s)\n"), {
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

Deno.test("denoCounts() counts what was ignored, with the reasons that files print", () => {
  const end = "ok | 12 passed | 0 failed | 3 ignored (3s)\n";
  const told = `skipped: no data are here\nx ... ignored\n${end}`;
  assert.deepEqual(denoCounts(told)?.skipped, [
    { reason: "no data are here", count: 1 },
    { reason: "no reason was given", count: 2 },
  ]);
  assert.equal(
    denoCounts(`skipped: of a file filtered out\nok | 1 passed | 0 failed (1s)`)?.skipped,
    undefined,
  );
});

Deno.test("readCounts() counts what pytest skipped, by its reasons", () => {
  const counts = readCounts(
    "=== short test summary info ===\n" +
      "SKIPPED [3] ../tests/python-backends/fixtures.py:86: data are not here: NAME names them\n" +
      "SKIPPED [1] ../tests/python-backends/test_x.py:7: no sandbox\n" +
      "5 passed, 5 skipped in 2.31s\n",
  );
  assert.deepEqual(counts, {
    passed: 5,
    failed: 0,
    skipped: [
      { reason: "data are not here: NAME names them", count: 3 },
      { reason: "no sandbox", count: 1 },
      { reason: "no reason was given", count: 1 },
    ],
  });
});

Deno.test("a run that left something out says so in its last line, the reasons above it", () => {
  const some = { passed: 4, failed: 1, skipped: [{ reason: "no data", count: 2 }] };
  const more = { passed: 1, failed: 0, skipped: [{ reason: "no data", count: 3 }] };
  assert.deepEqual(closingLines(addCounts([some, { passed: 1, failed: 0 }, more])), [
    "skipped 5: no data",
    "6 passed, 1 failed, 5 skipped",
  ]);
  assert.deepEqual(closingLines({ passed: 2, failed: 0 }), ["2 passed, 0 failed"]);
});

Deno.test("an ignored test of a real run is counted with what it says", async () => {
  const folder = temporaryFolder("ignored");
  const file = join(folder, "ignored_test.ts");
  const counts = JSON.stringify(import.meta.resolve("./counts.ts"));
  await Deno.writeTextFile(
    file,
    `import { ignoreUnless } from ${counts};
    Deno.test("runs", () => {});
    Deno.test({ name: "waits", ignore: ignoreUnless(false, "it waits for X"), fn() {} });`,
  );
  const words = ["test", "--allow-all", "--no-check", "--no-config", file];
  const { all } = await execa(Deno.execPath(), words, { all: true, env: { NO_COLOR: "1" } });
  assert.deepEqual(denoCounts(all), {
    passed: 1,
    failed: 0,
    skipped: [{ reason: "it waits for X", count: 1 }],
  });
});
