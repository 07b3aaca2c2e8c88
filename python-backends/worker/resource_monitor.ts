import { execa } from "execa";
import { readdirSync } from "node:fs";
import { totalmem } from "node:os";
import { availableMemory, readText } from "../memory.ts";

/** Kernel clock ticks a second: fixed at 100 in every Linux ABI that Python has wheels for. */
const TICKS = 100;

/** A GPU's state; the sum over all GPUs, power in watts. */
export interface GpuSample {
  readonly used_bytes: number;
  readonly utilisation: number;
  readonly power_w: number | null;
}

/** What a worker and its children used at one moment. */
export interface ResourceSample {
  /** Seconds since sampling began. */
  readonly seconds: number;
  readonly rss_bytes: number;
  /** Processors' worth of work since the last sample: 1.0 is one busy core. */
  readonly cpu_cores: number;
  readonly available_bytes: number;
  readonly gpu: GpuSample | null;
}

export interface ResourceMonitor {
  readonly peak_rss_bytes: number;
  readonly lowest_available_bytes: number;
  stop(): void;
}

/** Samples a process group until stopped; tells before memory runs out, not after. */
export function monitorResources(
  {
    pid,
    gpu: own,
    intervalMs = 1000,
    lowMemoryBytes = Math.max(400e6, totalmem() * 0.04),
    onSample,
    onAlert,
    readAvailable = availableMemory,
  }: {
    pid: number;
    /** The one GPU that the process may use, as CUDA names it; absent: all. */
    gpu?: string;
    intervalMs?: number;
    lowMemoryBytes?: number;
    onSample?: (sample: ResourceSample) => void;
    onAlert?: (condition: string, evidence: string) => void;
    readAvailable?: () => number;
  },
): ResourceMonitor {
  const started = performance.now();
  let last = { at: started, ticks: groupUse(pid).ticks };
  let peak = 0;
  let lowest = Infinity;
  let alerted = false;
  let stopped = false;

  const sample = async () => {
    const gpu = await gpuSample(own);
    if (stopped) return;
    const now = performance.now();
    const use = groupUse(pid);
    const available = readAvailable();
    const seconds = Math.max(1e-3, (now - last.at) / 1000);
    const cpu_cores = Math.max(0, use.ticks - last.ticks) / TICKS / seconds;
    last = { at: now, ticks: use.ticks };
    peak = Math.max(peak, use.rss_bytes);
    lowest = Math.min(lowest, available);
    if (available >= 1.5 * lowMemoryBytes) alerted = false;
    if (available < lowMemoryBytes && !alerted) {
      alerted = true;
      const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
      onAlert?.(
        "memory is running out",
        `${mb(available)} available, below ${mb(lowMemoryBytes)}; ` +
          `this call holds ${mb(use.rss_bytes)}`,
      );
    }
    const at = (now - started) / 1000;
    onSample?.({
      seconds: at,
      rss_bytes: use.rss_bytes,
      cpu_cores,
      available_bytes: available,
      gpu,
    });
  };
  const timer = setInterval(() => void sample(), intervalMs);

  return {
    get peak_rss_bytes() {
      return peak;
    },
    get lowest_available_bytes() {
      return lowest;
    },
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };
}

/** Resident bytes and processor ticks of a group's living members; zero where there is no /proc. */
function groupUse(group: number): { rss_bytes: number; ticks: number; members: number } {
  const use = { rss_bytes: 0, ticks: 0, members: 0 };
  if (group <= 0) return use; // it was never started
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return use;
  }
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readText(`/proc/${name}/stat`);
    // The command in brackets may itself hold spaces and brackets.
    const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields === undefined || Number(fields[2]) !== group || fields[0] === "Z") continue;
    const resident = readText(`/proc/${name}/status`)?.match(/^VmRSS:\s+(\d+)/m)?.[1];
    use.rss_bytes += Number(resident ?? 0) * 1024;
    use.ticks += Number(fields[11]) + Number(fields[12]);
    use.members += 1;
  }
  return use;
}

let gpuMissing = false;

/** The state of one GPU, or of all, by nvidia-smi; null, and never asked again, where there is none. */
export async function gpuSample(own?: string): Promise<GpuSample | null> {
  if (gpuMissing) return null;
  const result = await execa("nvidia-smi", [
    "--query-gpu=memory.used,utilization.gpu,power.draw",
    "--format=csv,noheader,nounits",
    ...(own === undefined ? [] : ["-i", own]),
  ], { reject: false, timeout: 5000 });
  const rows = result.failed ? [] : result.stdout.trim().split("\n").filter((row) => row !== "");
  if (rows.length === 0) {
    gpuMissing = true;
    return null;
  }
  return parseGpuRows(rows);
}

/** Sums nvidia-smi's rows of "MiB, percent, watts"; a figure it lacks reads "[N/A]". */
export function parseGpuRows(rows: readonly string[]): GpuSample {
  const table = rows.map((row) => row.split(",").map((cell) => Number(cell.trim())));
  const column = (index: number) => table.map((row) => row[index] ?? NaN);
  const sum = (values: number[]) => values.reduce((a, b) => a + (Number.isNaN(b) ? 0 : b), 0);
  const power = column(2);
  return {
    used_bytes: sum(column(0)) * 1024 * 1024,
    utilisation: sum(column(1)) / 100 / rows.length,
    power_w: power.every(Number.isNaN) ? null : sum(power),
  };
}
