import assert from "node:assert/strict";
import { execa } from "execa";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testPython } from "../../python-backends/checks.ts";
import { ensureEnvironment } from "../../python-backends/environments.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Result {
  vector: { strategy_id: string; latency_ms: number | null };
}

Deno.test("llama.cpp compiles, computes the artifacts' own weights, and runs the demo model", async (t) => {
  const folder = await Deno.makeTempDir();
  try {
    await t.step("its environment is made", async () => {
      await ensureEnvironment("llama_cpp", { onProgress: ({ line }) => console.error(line) });
    });
    await t.step("its logits are those of the dequantized model", async () => {
      const { passed, failed } = await testPython(["-k", "test_llama_cpp or test_gguf", "-rs"]);
      assert.equal(failed, 0);
      assert.ok(passed > 25, `${passed} passed: the others were skipped`);
    });
    await t.step("a study of the demo model measures speed in it alone", async () => {
      const store = join(folder, "store");
      const output = join(folder, "out");
      const run = await execa(Deno.execPath(), [
        ...["run", "--allow-all", "tracker/cli.ts", "run", "--model", "demo", "--dataset", "demo"],
        ...["--runtime", "llama.cpp", "--yes", "--store", store, "--output", output],
        ...["--max-trials", "2", "--methods", "rtn,int8"],
        ...["--proxy-samples", "24", "--full-samples", "48"],
      ], { cwd: ROOT, reject: false, stdin: "ignore", env: { NO_COLOR: "1" } });
      assert.equal(run.exitCode, 0, `${run.stdout}\n${run.stderr}`);
      const results: Result[] = JSON.parse(await readFile(join(output, "results.json"), "utf8"));
      const [baseline, ...trials] = results;
      assert.equal(trials.length, 2);
      assert.ok(baseline!.vector.latency_ms! > 0);
      // Few samples may stop a trial on the proxy, before it is timed.
      assert.ok(trials.some(({ vector }) => vector.latency_ms !== null && vector.latency_ms > 0));
      const asked = await execa(Deno.execPath(), [
        ...["run", "--allow-all", "tracker/cli.ts", "sql", "--store", store, "--format", "json"],
        "SELECT DISTINCT runtime FROM measurements WHERE runtime IS NOT NULL",
      ], { cwd: ROOT });
      assert.deepEqual(JSON.parse(asked.stdout), [{ runtime: "llama.cpp" }]);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
