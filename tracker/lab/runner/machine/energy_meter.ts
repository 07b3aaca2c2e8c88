import { readdirSync } from "node:fs";
import process from "node:process";
import type { DeviceFacts, EnergyMeter, RunRequest } from "../../../../core/mod.ts";
import { readText } from "../../../../python-backends/memory.ts";
import type { ResourceSample } from "../../../../python-backends/worker/resource_monitor.ts";

/** Kernel clock ticks a second: fixed at 100 in every Linux ABI that Python has wheels for. */
const TICKS = 100;
/** Places in `/proc/self/stat` after the command: user and system time, then those of ended children. */
const TIMES = { first: 11, count: 4 };

/** The meter of one study. */
export interface StudyMeter extends EnergyMeter {
  /** For a call that begins: takes what it is seen to use, its GPU's power since the sample before. */
  call(): (sample: Pick<ResourceSample, "seconds" | "gpu">) => void;
}

/** The parent of a process and the seconds of its work, from its line in /proc; null: it is none. */
function workOf(stat: string | null): { parent: number; seconds: number } | null {
  // The command in brackets may itself hold spaces and brackets.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ").map(Number) ?? [];
  const times = fields.slice(TIMES.first, TIMES.first + TIMES.count);
  if (times.length < TIMES.count || !times.every(Number.isFinite)) return null;
  return { parent: fields[1]!, seconds: times.reduce((sum, ticks) => sum + ticks, 0) / TICKS };
}

/**
 * Seconds of processors that this process used, with all that it started: the whole work of what has
 * ended, and of a child that runs its own and that of its ended children. Null where there is no /proc.
 */
export function processorSeconds(
  read: (path: string) => string | null = readText,
  names: () => string[] = () => readdirSync("/proc"),
  pid = process.pid,
): number | null {
  const own = workOf(read(`/proc/${pid}/stat`));
  if (own === null) return null;
  return names().filter((name) => /^\d+$/.test(name)).reduce((sum, name) => {
    const work = workOf(read(`/proc/${name}/stat`));
    return work?.parent === pid ? sum + work.seconds : sum;
  }, own.seconds);
}

/**
 * Counts a study's joules: the watts of a busy thread over all processor time, an estimate that leaves
 * idle power and memory out, and a GPU's own power integrated while a call runs. Undefined where
 * processor time or the watts are not known.
 */
export function studyMeter(
  { cpu_power }: Pick<DeviceFacts, "cpu_power">,
  seconds: () => number | null = processorSeconds,
): StudyMeter | undefined {
  if (cpu_power === undefined || seconds() === null) return undefined;
  let gpu_joules = 0;
  return {
    joules: () => (seconds() ?? 0) * cpu_power.watts_per_thread + gpu_joules,
    call() {
      let last = 0;
      return ({ seconds: at, gpu }) => {
        gpu_joules += (gpu?.power_w ?? 0) * (at - last);
        last = at;
      };
    },
  };
}

/** Why a study's budget of joules cannot be kept here; null: it can, or there is none. */
export function budgetRefusal(
  { budget_joules }: Pick<RunRequest, "budget_joules">,
  device: Pick<DeviceFacts, "cpu_power">,
): string | null {
  if (budget_joules === undefined || studyMeter(device) !== undefined) return null;
  const why = process.platform === "linux"
    ? "the watts of this machine's processor are not known"
    : `processor time is counted on Linux alone and this is ${process.platform}`;
  return `Cannot keep a budget of ${budget_joules} J here as ${why}: limit the time by --budget`;
}
