import { readFileSync } from "node:fs";
import { freemem } from "node:os";

/** A file's text, or null: /proc and /sys lack much in containers and on other systems. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** Bytes that can be had without swapping; a container's own limit counts. */
export function availableMemory(): number {
  const line = readText("/proc/meminfo")?.match(/^MemAvailable:\s+(\d+)/m)?.[1];
  const host = line === undefined ? freemem() : Number(line) * 1024;
  const limit = Number(readText("/sys/fs/cgroup/memory.max") ?? NaN);
  const used = Number(readText("/sys/fs/cgroup/memory.current") ?? NaN);
  const cache = readText("/sys/fs/cgroup/memory.stat")?.match(/^inactive_file (\d+)/m)?.[1];
  if (!Number.isFinite(limit) || !Number.isFinite(used)) return host;
  return Math.min(host, Math.max(0, limit - used + Number(cache ?? 0)));
}

/** How often the kernel has killed for want of memory; null where it does not say. */
export function oomKills(): number | null {
  const group = readText("/proc/self/cgroup")?.match(/^0::(.*)$/m)?.[1] ?? "/";
  const texts = [
    readText(`/sys/fs/cgroup${group}/memory.events`),
    readText("/sys/fs/cgroup/memory.events"),
    readText("/proc/vmstat"),
  ];
  const counts = texts
    .map((text) => text?.match(/^oom_kill (\d+)$/m)?.[1])
    .filter((count) => count !== undefined);
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + Number(count), 0);
}

/** Whether `neededBytes` are to be had now; the sentence says what is needed and found. */
export function checkMemory(
  neededBytes: number,
  availableBytes: number = availableMemory(),
): { ok: true } | { ok: false; reason: string } {
  if (neededBytes <= availableBytes) return { ok: true };
  const gb = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  return {
    ok: false,
    reason: `needs about ${gb(neededBytes)} of memory, ${gb(availableBytes)} are available`,
  };
}
