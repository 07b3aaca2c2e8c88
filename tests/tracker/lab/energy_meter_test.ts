import assert from "node:assert/strict";
import { execa } from "execa";
import {
  budgetRefusal,
  processorSeconds,
  studyMeter,
} from "../../../tracker/lab/runner/machine/energy_meter.ts";
import { ignoreUnless } from "../../run/counts.ts";

const WATTS = { cpu_power: { watts_per_thread: 20, source: "a test" } };

Deno.test("processorSeconds() adds this process, what has ended, and its children that run", () => {
  const line = (pid: number, parent: number, times: string) =>
    `${pid} (a) b (c) S ${parent} 1 1 0 -1 4194304 10 20 0 0 ${times} 20 0 1 0 9 1 1`;
  const files: Record<string, string> = {
    "/proc/7/stat": line(7, 1, "100 50 25 5"), // itself, and what it waited for
    "/proc/8/stat": line(8, 7, "10 0 200 0"), // a child that forks, and its ended forks
    "/proc/9/stat": line(9, 8, "70 0 0 0"), // a fork counts once it has ended
    "/proc/10/stat": line(10, 1, "999 0 0 0"), // somebody else
  };
  const seconds = (pid: number) =>
    processorSeconds((path) => files[path] ?? null, () => ["7", "8", "9", "10", "self"], pid);
  assert.ok(Math.abs(seconds(7)! - 3.9) < 1e-9);
  assert.equal(processorSeconds(() => null), null);
  assert.equal(processorSeconds(() => "no such line"), null);
});

Deno.test({
  name: "a meter counts what a child process worked, once it has ended",
  ignore: ignoreUnless(
    processorSeconds() !== null,
    "this system does not tell how long its processes have worked",
  ),
  async fn() {
    const meter = studyMeter(WATTS)!;
    const before = meter.joules();
    // A quarter of a second of processor time by its own count, however long that takes.
    const work = "const t = process.cpuUsage(); while (process.cpuUsage(t).user < 250000);";
    await execa(Deno.execPath(), ["eval", work]);
    assert.ok(meter.joules() - before >= 0.25 * 20 - 0.4, "two ticks are lost to rounding");
  },
});

Deno.test("a GPU's power is integrated over the samples of each call", () => {
  const meter = studyMeter(WATTS, () => 0)!;
  const gpu = (power_w: number | null) => ({ used_bytes: 0, utilisation: 1, power_w });
  const first = meter.call();
  first({ seconds: 1, gpu: gpu(100) });
  const beside = meter.call();
  beside({ seconds: 2, gpu: gpu(10) });
  first({ seconds: 3, gpu: gpu(200) });
  assert.equal(meter.joules(), 520, "each on its own GPU");
  const next = meter.call();
  next({ seconds: 0.5, gpu: gpu(100) }); // it begins anew
  next({ seconds: 1.5, gpu: null });
  next({ seconds: 2.5, gpu: gpu(null) });
  assert.equal(meter.joules(), 570);
});

Deno.test("a budget of joules is refused in words where nothing counts them", () => {
  const asked = { budget_joules: 5000 };
  assert.match(
    budgetRefusal(asked, {})!,
    /^Cannot keep a budget of 5000 J here as .*: limit the time by --budget$/,
  );
  assert.equal(budgetRefusal({}, {}), null);
  if (processorSeconds() !== null) assert.equal(budgetRefusal(asked, WATTS), null);
});
