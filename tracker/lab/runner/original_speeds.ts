import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  type Artifact,
  type Facts,
  ofSessions,
  resolveCache,
  type RunRequest,
  type Runtime,
  RuntimeSpeed,
  runtimeWords,
  toTimeAgain,
} from "../../../core/mod.ts";
import { findEnvironment } from "../../../python-backends/environments/environments.ts";
import { sha256Text } from "../../ground/storage/file_hash.ts";
import { formFailure, makeForms, passing } from "./forms/runtime_form.ts";
import type { CallRunner } from "./call_runner.ts";
import { formSource, namedRuntime, packageSource } from "./source_closure.ts";
import { type FormInput, inPrecision } from "./speed_input.ts";
import type { Tools } from "./workshop.ts";

/** Short, as it only ranks: what a ratio rests on is timed in turn with its baseline, later. */
const PLAN = { prompt_tokens: 8, new_tokens: 16, least_passes: 3, most_passes: 3, half_width: 1 };
const FILE = "speeds.json";
/** How often the fastest runtimes are timed at most, where the first time decides nothing between them. */
const ROUNDS = 4;

/** Whether timings may decide anything here: not where nobody waits for a quiet machine. */
export function timingsDecide(): boolean {
  return Deno.env.get("PARE_QUIET_SECONDS") !== "0";
}

interface Original {
  readonly tools: Tools;
  readonly runner: CallRunner;
  readonly request: Pick<RunRequest, "runtime" | "seed">;
  readonly facts: Facts;
  readonly baseline: Artifact;
  /** Told of what takes seconds. */
  readonly say: (line: string) => void;
  readonly kept_only: boolean;
}

/** A runtime and one of the precisions that it offers, its own first. */
interface Way {
  readonly runtime: Runtime;
  readonly precision: string;
  readonly own: boolean;
}

/**
 * How fast every runtime that is made here runs the original, in each precision that it offers. It is
 * timed once for a machine, a model and what runs it: later studies take the kept figures, and who
 * asks for those alone times nothing.
 */
export async function originalSpeeds(original: Original): Promise<Pick<Facts, "runtimes">> {
  const ways = await waysHere(original);
  if (ways.length < 2) return {}; // there is nothing to choose
  const { caches } = original.tools;
  const key = await keyOf(original, ways);
  const there = await caches.peek("speeds", key);
  if (there !== null) return { runtimes: await readSpeeds(there) };
  if (original.kept_only) return {};
  const time = (way: Way) => {
    original.say(`timing the original in ${runtimeWords(way.runtime.name, way.precision)}`);
    return timeOriginal(original, way);
  };
  const found = await timedInTurn(ways, time);
  const quiet = found.every(({ busy_cores, reason }) =>
    busy_cores === undefined && reason === null
  );
  // What failed or was disturbed is timed again by the next study.
  if (quiet) {
    await caches.cached(
      "speeds",
      key,
      (directory) => writeFile(join(directory, FILE), JSON.stringify(found)),
    );
  }
  return { runtimes: found };
}

/** Each once; then those near the fastest in turn, until the runtimes are told apart. */
async function timedInTurn(
  ways: readonly Way[],
  time: (way: Way) => Promise<RuntimeSpeed>,
): Promise<RuntimeSpeed[]> {
  const sessions: RuntimeSpeed[][] = [];
  for (const way of ways) sessions.push([await time(way)]);
  for (let round = 1; round < ROUNDS; round++) {
    const rivals = toTimeAgain({ runtimes: sessions.map(ofSessions) });
    for (const { runtime, precision } of rivals) {
      const at = ways.findIndex((one) =>
        one.runtime.name === runtime && one.precision === precision
      );
      sessions[at]!.push(await time(ways[at]!));
    }
  }
  return sessions.map(ofSessions);
}

async function readSpeeds(directory: string): Promise<RuntimeSpeed[]> {
  return z.array(RuntimeSpeed).parse(JSON.parse(await readFile(join(directory, FILE), "utf8")));
}

/** What can be timed here, and is worth it: what multiplies packed weights out is for where no other runs. */
async function waysHere({ tools, request, facts }: Original): Promise<Way[]> {
  const able = tools.registry.runtimes.filter((runtime) =>
    runtime.precisions !== undefined && runtime.supports(facts).ok
  );
  const [preferred] = [...able].sort((a, b) => b.preference - a.preference);
  // The environments of the preferred one and of the one that was asked for are made before a study anyway.
  const sure = new Set([preferred?.name, request.runtime]);
  const here = await Promise.all(
    able.map(async (one) => sure.has(one.name) || await isMade(tools, one)),
  );
  const there = able.filter((_, at) => here[at]);
  const real = there.filter(({ name, emulates }) =>
    emulates === undefined || name === request.runtime
  );
  const fits = ({ precision, own }: Way) => own || weightBytes(facts, precision) < free(facts);
  return (real.length === 0 ? there : real).flatMap((runtime) =>
    runtime.precisions!(facts).map((precision, at) => ({ runtime, precision, own: at === 0 }))
  ).filter(fits);
}

function weightBytes({ model }: Facts, precision: string): number {
  return model.parameters * (precision === "f32" ? 4 : 2);
}

/** Half of the memory, as loading takes more than the weights. */
function free({ device }: Facts): number {
  return device.free_memory_gb * 1e9 / 2;
}

async function isMade({ home, registry }: Tools, { needs, form }: Runtime): Promise<boolean> {
  const names = [needs.environment, ...(form === null ? [] : [form.environment])];
  const found = await Promise.all(
    names.map((name) => findEnvironment(name, home.root, registry.environments.get(name))),
  );
  return found.every((one) => one !== null);
}

/** Machine, model, all that computes, and how it keeps keys and values where nobody sets that. */
async function keyOf({ tools, facts, baseline }: Original, ways: readonly Way[]): Promise<string> {
  const { device_name, cores, platform } = facts.device;
  const computes = await Promise.all(ways.map(async ({ runtime, precision }) => [
    ...[runtime.name, precision, await formSource(runtime)],
    runtime.caches === undefined ? null : resolveCache(runtime.caches, "as timed", {}).params,
    await tools.environmentHash(runtime.needs.environment),
  ]));
  const source = await packageSource("runtimes", "measuring", "calls/speed.py");
  const parts = [baseline.artifact_id, device_name, cores, platform, source, PLAN, computes];
  return sha256Text(JSON.stringify(parts)).slice(0, 32);
}

async function timeOriginal(
  { tools, runner, request, baseline }: Original,
  { runtime, precision, own }: Way,
): Promise<RuntimeSpeed> {
  const at = tools.timestamp();
  const input: FormInput = {
    ...{ workshop: tools, runner, trial_id: "setup", runtime, precision },
    ...{ artifact: baseline, baseline: null },
  };
  const failed = (reason: string): RuntimeSpeed => ({
    ...{ runtime: runtime.name, precision, numerics: null, latency_ms: null },
    ...{ standard_error: null, passes: 0, bytes_read: null, reason, at },
  });
  await using scratch = await tools.caches.scratch();
  // The form of its own precision is the study's too: it is kept.
  const forms = own || runtime.form?.shared !== "artifact"
    ? await makeForms(input, scratch.directory)
    : await passingForm(input, scratch.directory);
  if (!forms.ok) return failed(forms.failure.message);
  const timed = await runner("setup", {
    call: "speed",
    ...namedRuntime(runtime),
    artifact_dir: baseline.location,
    baseline_dir: null,
    ...forms.value,
    ...PLAN,
    seed: request.seed,
    ...{ cpu_power: null, carbon_intensity: null },
    ...inPrecision(input),
  }, runtime.needs.environment);
  if (!timed.ok) return failed(timed.failure.message);
  const { measurements, numerics, threads, bytes_read_per_token } = timed.value;
  const row = measurements.find(({ metric }) => metric === "latency_ms");
  if (row === undefined || !(row.value > 0)) return failed("it gave no time per token");
  return {
    ...{ runtime: runtime.name, precision, numerics: { ...numerics, threads } },
    ...{ latency_ms: row.value, standard_error: row.standard_error, passes: row.n },
    ...{ bytes_read: bytes_read_per_token, reason: null, at },
    ...(row.busy_cores === undefined ? {} : { busy_cores: row.busy_cores }),
  };
}

async function passingForm(input: FormInput, scratch: string) {
  try {
    const form_dir = await passing(input, [], scratch, false);
    return { ok: true as const, value: { form_dir, baseline_form_dir: null } };
  } catch (error) {
    return formFailure(error, "make_form", []);
  }
}
