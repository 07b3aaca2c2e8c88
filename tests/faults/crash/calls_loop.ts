/** What the loops of failing calls have in common: each call fails, lies, or is the last one; then the product starts. */
import assert from "node:assert/strict";
import { basename } from "node:path";
import { storageFault } from "../../../tracker/ground/storage/storage_error.ts";
import { injecting, type Loop, sometimes } from "../loop.ts";
import type { Workload } from "../workloads/workload.ts";
import {
  type CallFault,
  callFaults,
  type FaultyRun,
  isLie,
  ofFewFiles,
  runWith,
  unbrokenTime,
} from "./fail_calls.ts";
import { namedCalls } from "./record.ts";
import { begin, type Traced, tracedLoop } from "./traced_loop.ts";

/** What a command says of it: a sentence as it stands, or one about the disk. */
function isSaid(ended: string): boolean {
  const [, own = ""] = /error: .*?\w+: (.{10,})/.exec(ended) ?? [];
  return /^(Cannot|Could not|No|The) /.test(own) ||
    own !== "" && storageFault(new Error(own)) !== null ||
    own.startsWith("UNKNOWN: unknown error"); // a full quota, known by its number alone
}

/** Nothing takes so many times what it takes without a fault, traced or not. */
const LATE_TIMES = 50;
/** A shorter limit would be one of the machine's moods. */
const LEAST_LIMIT_MS = 60_000;

/** How long a workload may take, as it was timed last. */
const limits = new WeakMap<Traced, number>();

async function timed(traced: Traced): Promise<number> {
  await begin(traced);
  const { workload: { script }, root: folder } = traced;
  const took_ms = Math.ceil(await unbrokenTime({ script, folder }));
  const limit_ms = Math.max(LEAST_LIMIT_MS, LATE_TIMES * took_ms);
  limits.set(traced, limit_ms);
  return limit_ms;
}

/** A run that is too late is late by what the machine does now: it has another try by a new limit. */
async function faulty(traced: Traced, fault: CallFault): Promise<FaultyRun> {
  const { workload: { script }, root: folder, log } = traced;
  const once = async (limit_ms: number) => {
    await begin(traced);
    return await runWith(fault, { script, folder, log, limit_ms });
  };
  const limit_ms = limits.get(traced) ?? await timed(traced);
  const run = await once(limit_ms);
  if (!run.late) return run;
  const renewed = await timed(traced);
  return renewed > limit_ms ? await once(renewed) : run;
}

async function check(traced: Traced, fault: CallFault, nth: number): Promise<void> {
  const { workload, root } = traced;
  const run = await faulty(traced, fault);
  assert.ok(!run.late, `the workload hangs; it said ${run.said.slice(0, 200)}`);
  if (run.met && fault.name === "rename") {
    sometimes("a rename fails, or is the last call");
    if (workload.isBehind?.(root) === true) {
      sometimes(`${workload.name}: a rename failed while it was behind`);
    }
  }
  if (fault.does.startsWith("cut")) sometimes("a write is cut short");
  if (run.met && run.killed) sometimes("the workload is killed in a call");
  else if (run.met && run.said !== "") {
    sometimes("the workload cannot go on, and says so");
    assert.ok(
      isLie(fault) || isSaid(run.said),
      `it ends without a sentence: ${run.said.slice(0, 300)}`,
    );
  } else if (run.met) sometimes(GOES_ON);
  // What a disk has lied about is lost; all else is read, and the next one is written.
  const lied = isLie(fault);
  await workload.check(root, lied ? [] : run.acknowledged, nth, { sent: run.sent, lied });
}

const GOES_ON = "the workload goes on behind a call that failed";
const REACHES = [
  "the workload is killed in a call",
  "the workload cannot go on, and says so",
  "a write is cut short",
  "a rename fails, or is the last call",
];

interface Asked extends Pick<Loop, "name" | "about" | "reaches"> {
  readonly workloads: readonly Workload[];
  /** Calls of one kind on one file; default: six. */
  readonly most?: number;
  /** Files of one folder and ending; default: all. */
  readonly most_files?: number;
  /** Every call that fails ends it: nothing of it goes on behind one. */
  readonly all_or_nothing?: boolean;
}

export function callsLoop(
  { most = 6, most_files = Infinity, all_or_nothing = false, ...asked }: Asked,
): Loop {
  return tracedLoop<CallFault>({
    ...asked,
    reaches: [...REACHES, ...(all_or_nothing ? [] : [GOES_ON]), ...asked.reaches],
    async points({ workload, root, log }) {
      const calls = [...await namedCalls(workload.script, root, log)];
      return callFaults(ofFewFiles(calls, most_files), most);
    },
    stratumOf: ({ name, path, does, for_ever }) => `${name} ${basename(path)} ${does} ${for_ever}`,
    async hit(traced, fault, n) {
      const { name, path, nth, does, for_ever } = fault;
      const call = `${name} ${nth}: ${does}${for_ever ? " for ever" : ""}`;
      const file = `${traced.workload.name}/${path.slice(traced.root.length + 1)}`;
      const kind = for_ever ? "hopeless" : "survivable";
      return await injecting({ file, call, kind }, () => check(traced, fault, n));
    },
  });
}
