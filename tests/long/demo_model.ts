import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runPare } from "../fixtures/programs.ts";

// Timings wait for a quiet machine, as a user's do. Which is faster is for benchmarks to say.
const pare = (words: string[]) => runPare(words, { PARE_QUIET_SECONDS: "4" });

interface Result {
  vector: { strategy_id: string; accuracy: number | null; latency_ms: number | null };
  report: { compression_ratio: number | null; aggregate_accuracy: number | null };
}

Deno.test("the whole line runs on the real demo model, with few samples", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const store = join(folder, "store");
    const output = join(folder, "out");
    const run = await pare([
      ...["run", "--model", "demo", "--dataset", "demo", "--yes", "--store", store],
      ...["--output", output, "--max-trials", "1", "--methods", "rtn"],
      // Of the text less than by default, as a window of it costs as much as ten short questions.
      ...["--proxy-samples", "16,demo_text=2", "--full-samples", "32,demo_text=4"],
    ]);
    assert.equal(run.exitCode, 0, `${run.stdout}\n${run.stderr}`);
    const results: Result[] = JSON.parse(await readFile(join(output, "results.json"), "utf8"));
    const [baseline, ...trials] = results;
    assert.equal(trials.length, 1);
    assert.ok(baseline!.vector.accuracy! > 0.4, `baseline accuracy ${baseline!.vector.accuracy}`);
    const eight = trials.find(({ vector }) => vector.strategy_id.includes("8bit"))!;
    assert.ok(eight.report.compression_ratio! > 1.3, "an 8-bit model is smaller than fp16");
    for (const { vector } of results) assert.ok(vector.latency_ms! > 0, "each was timed");
    const asked = await pare([
      ...["sql", "SELECT count(*) AS n FROM trials", "--store", store, "--format", "json"],
    ]);
    assert.deepEqual(JSON.parse(asked.stdout), [{ n: 2 }]);
    const report = await readFile(join(output, "report.md"), "utf8");
    assert.match(report, /4-bit integers decoded, put off their grid by scales/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
