import assert from "node:assert/strict";
import { checkMemory } from "../../python-backends/memory.ts";
import {
  monitorResources,
  parseGpuRows,
  type ResourceSample,
} from "../../python-backends/worker/resource_monitor.ts";
import { runScripted, startScripted } from "./scripted_worker.ts";

Deno.test("monitorResources() sees a worker's memory, processors and children", async () => {
  const worker = await startScripted("return {}");
  const children: ResourceSample[] = [];
  await runScripted(
    `block = bytearray(os.urandom(1 << 20)) * 300
end = time.monotonic() + 1.2
while time.monotonic() < end:
    sum(range(10000))
return {}`,
    { onSample: (sample) => children.push(sample), sampleMs: 200 },
  );
  await worker.end();
  assert(children.length >= 3, `${children.length} samples`);
  const peak = Math.max(...children.map((sample) => sample.rss_bytes));
  assert(peak > 300e6 && peak < 600e6, `peak ${peak}`);
  const busy = Math.max(...children.map((sample) => sample.cpu_cores));
  assert(busy > 0.2 && busy < 1.6, `busy ${busy}`);
  assert(children.every((sample) => sample.available_bytes > 0));
});

Deno.test("monitorResources() warns once before memory runs out, and again after it recovered", async () => {
  const alerts: string[] = [];
  const readings = [9e9, 1e8, 1e8, 9e9, 5e7, 5e7];
  await new Promise<void>((resolve) => {
    const monitor = monitorResources({
      pid: Deno.pid,
      intervalMs: 5,
      lowMemoryBytes: 1e9,
      onAlert: (_, evidence) => alerts.push(evidence),
      readAvailable: () => {
        const next = readings.shift();
        if (next !== undefined) return next;
        monitor.stop();
        resolve();
        return 9e9;
      },
    });
  });
  assert.equal(alerts.length, 2);
  assert.match(alerts[0]!, /100 MB available, below 1000 MB/);
});

Deno.test("checkMemory() says what is needed and what there is", () => {
  assert.deepEqual(checkMemory(1e9, 2e9), { ok: true });
  const refused = checkMemory(12.34e9, 2e9);
  assert(!refused.ok);
  assert.match(refused.reason, /12\.3 GB.*2\.0 GB/);
});

Deno.test("parseGpuRows() sums memory and power, and takes the mean of utilisation", () => {
  assert.deepEqual(parseGpuRows(["1024, 50, 100.5", "1024, 100, [N/A]"]), {
    used_bytes: 2 * 1024 ** 3,
    utilisation: 0.75,
    power_w: 100.5,
  });
  assert.equal(parseGpuRows(["1, 0, [N/A]"]).power_w, null);
});
