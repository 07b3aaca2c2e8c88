/**
 * A study's worker where its engine has put it: runs the calls of trials one after another, until the study
 * has no more of them or is gone.
 *
 *     deno run --allow-all serve_calls.ts FOLDER
 */
import { existsSync } from "node:fs";
import { cpus } from "node:os";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Failure, Outcome } from "../../../core/mod.ts";
import { createBackendClient } from "../../../python-backends/client.ts";
import { lostCards, lostWords } from "../../../python-backends/lost_card.ts";
import { readWhole } from "../../../python-backends/whole_file.ts";
import { findHome } from "../../ground/home.ts";
import { watchLeases } from "../attempt/lease.ts";
import { findDevices } from "../engines/local/devices.ts";
import {
  Heard,
  type NamedInputs,
  pauses,
  type Said,
  say,
  Told,
  wirePaths,
  WorkerSettings,
} from "./worker_wire.ts";

/** Events of a call that somebody hears; its result goes with the outcome. */
const HEARD: ReadonlySet<string> = new Set(["progress", "waiting", "alert", "points"]);

const folder = resolve(Deno.args[0] ?? "");
const paths = wirePaths(folder);
const settings = WorkerSettings.parse(readWhole(paths.settings));
const { home, offline, pins_folders, env, threads, study_host, given } = settings;
const tell = (line: Said) => say(paths.said, line);

/** A kind of machine by what computes there, whatever part of it an allocation has. */
async function machineHere(): Promise<{ machine: string; card: string | null }> {
  const { cards, names = [] } = await findDevices();
  const [card = null] = cards;
  return { machine: names[0] ?? cpus()[0]?.model.trim() ?? Deno.build.arch, card };
}

/** Fetches what the study names and this machine lacks; what cannot be had its calls will say. */
async function fetchLacking({ objects, paths }: NamedInputs): Promise<void> {
  const lacking = paths.filter((path) => !existsSync(path));
  if (lacking.length === 0) return;
  const { openArtifactStore } = await import("../../artifacts/artifact_store.ts");
  const { SHARED_BY, shareNamed } = await import("../../artifacts/remote/shared_artifacts.ts");
  using artifacts = await openArtifactStore(findHome({ PARE_HOME: home }).artifacts);
  await shareNamed(artifacts, lacking, { ...Deno.env.toObject(), [SHARED_BY]: objects });
}

const host = Deno.hostname();
const { machine, card } = await machineHere();
// Beside other studies of the study's own machine: those hold the lock of the home.
const device = card !== null ? `${host}-gpu-${card}` : host === study_host ? null : host;
const client = createBackendClient({
  ...{ home, offline, env, threads, logs: paths.logs },
  pins_folders: new Map(pins_folders),
  ...(device === null ? {} : { timed_device: device }),
  ...(card === null ? {} : { gpu: card }),
});
const stops = new Map<number, AbortController>();

function close(call: number, outcome: Outcome<unknown>): void {
  const { spans } = outcome;
  if (outcome.ok) tell({ call, value: outcome.value, spans });
  else tell({ call, failure: outcome.failure, spans });
}

async function run({ run: call, ...asked }: Extract<Told, { run: number }>): Promise<void> {
  const { request, environment, stall_ms, sample_ms } = asked;
  const stop = new AbortController();
  stops.set(call, stop);
  // As Python said it: the study reads it as one of its own processes'.
  let value: unknown = null;
  const outcome = await client.run(request, {
    ...{ environment, threads, signal: stop.signal },
    ...(stall_ms === null ? {} : { stallMs: stall_ms }),
    ...(sample_ms === null ? {} : { sampleMs: sample_ms }),
    onEvent(event) {
      if (event.event === "result") value = event.result;
      else if (HEARD.has(event.event)) tell({ call, event });
    },
    onSample: (sample) => tell({ call, sample }),
    onLog: (log) => tell({ call, log }),
  });
  stops.delete(call);
  // Not the call's own fault: it runs again, where another card is.
  const lost = outcome.ok || card === null ? [] : await lostCards([card]);
  if (lost.length > 0) {
    tell({ card_lost: lostWords(lost) });
    Deno.exit(1);
  }
  close(call, outcome.ok ? { ...outcome, value } : outcome);
}

async function pythonOf(call: number, environment: string): Promise<void> {
  try {
    close(call, { ok: true, value: await client.pythonOf(environment), spans: [] });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const failure: Failure = { kind: "missing_environment", message, hint: null, phase: null };
    close(call, { ok: false, failure, spans: [] });
  }
}

/** What it is told; false: to end. */
function heed(told: Told): boolean {
  if ("run" in told) void run(told);
  else if ("python_of" in told) void pythonOf(told.python_of, told.environment);
  else if ("stop" in told) stops.get(told.stop)?.abort();
  else return false;
  return true;
}

// From an engine that takes its machine back: the study sees this worker end, and runs its call elsewhere.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => Deno.exit(130));
}

if (given !== null) await fetchLacking(given);
const leases = watchLeases();
const heard = new Heard(paths.calls, Told);
const pause = pauses();
tell({ hello: { host, machine } });
for (let open = true; open;) {
  const told = heard.look();
  for (const one of told) open = heed(one) && open;
  if (leases(settings.run_folder) !== "fresh") open = false;
  if (open) await delay(pause.next(told.length > 0));
}
Deno.exit(0);
