import type { Task } from "../contract/plugin.ts";
import type { Facts } from "../schemas/facts.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Assumption, Constraints } from "../schemas/spec.ts";
import { byTask } from "../tasks/plan_tasks.ts";
import { checkScored, goalsAsked } from "./goals_asked.ts";
import { findTarget, type Target, usableGb } from "./targets.ts";

/** Largest accuracy drop, absolute, where the user says nothing. */
export const MAX_ACCURACY_DROP = 0.02;

/** A constraint's value and, where the user did not give it, the assumption that it is. */
interface Taken {
  readonly value: number | null;
  readonly assumption: Assumption | null;
}

function assumed(
  field: keyof Constraints,
  value: number | null,
  source: Assumption["source"],
  reason: string,
): Taken {
  return { value, assumption: { field: `constraints.${field}`, value, source, reason } };
}

function given(value: number): Taken {
  return { value, assumption: null };
}

function ofTarget(field: keyof Constraints, target: Target): Taken {
  const share = target.shared ? "half of its memory, which the system shares" : "its memory";
  const reason = `target ${target.name} (${target.describes}): ${share}`;
  return assumed(field, usableGb(target), "target", reason);
}

function ofDevice({ device }: Facts): Taken {
  if (device.device === "cpu") {
    return assumed("max_vram_gb", null, "inferred", "no GPU here: no limit on its memory");
  }
  return device.vram_gb === null
    ? assumed("max_vram_gb", null, "default", `${device.device_name} does not tell its memory`)
    : assumed(
      "max_vram_gb",
      hundredths(device.vram_gb),
      "inferred",
      `memory of ${device.device_name}`,
    );
}

/** What a card has, as people say it: never more than there is. */
function hundredths(gb: number): number {
  return Math.floor(gb * 100) / 100;
}

/** What single tasks may lose, by the names that they have in the study. */
function taskLimits(
  asked: RunRequest["constraints"],
  tasks: readonly Task[],
): Pick<Constraints, "max_task_drops"> {
  const limits = byTask(asked.max_task_drops, tasks, "task to limit the drop of");
  for (const task of tasks) if (limits.has(task.name)) checkScored(task, "limit the drop of");
  return limits.size === 0 ? {} : { max_task_drops: Object.fromEntries(limits) };
}

/** Constraints in force: the user's, else the target's, else the defaults; and where each is from. */
export function constraintsOf(
  request: Pick<RunRequest, "constraints" | "target">,
  facts: Facts,
  tasks: readonly Task[],
): { constraints: Constraints; assumptions: Assumption[] } {
  const asked = request.constraints;
  const target = request.target === undefined ? null : findTarget(request.target);
  const drop = asked.max_accuracy_drop ?? MAX_ACCURACY_DROP;
  const taken: Taken[] = [
    asked.max_accuracy_drop === undefined
      ? assumed("max_accuracy_drop", drop, "default", "absolute drop, by default")
      : given(drop),
  ];
  const vram = asked.max_vram_gb !== undefined
    ? given(asked.max_vram_gb)
    : target !== null
    ? ofTarget("max_vram_gb", target)
    : ofDevice(facts);
  const size = asked.max_size_gb !== undefined
    ? given(asked.max_size_gb)
    : target !== null
    ? ofTarget("max_size_gb", target)
    : { value: null, assumption: null };
  taken.push(vram, size);
  return {
    constraints: {
      max_accuracy_drop: drop,
      ...taskLimits(asked, tasks),
      ...goalsAsked(asked.goals, tasks),
      max_vram_gb: vram.value,
      max_latency_ms: asked.max_latency_ms ?? null,
      max_size_gb: size.value,
      ...(asked.max_kv_gb === undefined ? {} : { max_kv_gb: asked.max_kv_gb }),
    },
    assumptions: taken.flatMap(({ assumption }) => assumption === null ? [] : [assumption]),
  };
}
