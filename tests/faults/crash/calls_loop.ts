/** What the loops of failing calls have in common: each call fails, lies, or is the last one; then the product starts. */
import assert from "node:assert/strict";
import { basename } from "node:path";
import { storageFault } from "../../../tracker/ground/storage/storage_error.ts";
import { injecting, type Loop, sometimes } from "../loop.ts";
import type { Workload } from "../workloads/workload.ts";
import { type CallFault, callFaults, isLie, runWith } from "./fail_calls.ts";
import { namedCalls } from "./record.ts";
import { begin, type Traced, tracedLoop } from "./traced_loop.ts";

/** Calls of one kind on one file. */
const MOST = 6;

/** What a command says of it: a sentence as it stands, or one about the disk. */
function isSaid(ended: string): boolean {
  const [, own = ""] = /error: .*?\w+: (.{10,})/.exec(ended) ?? [];
  return /^(Cannot|Could not|No|The) /.test(own) ||
    own !== "" && storageFault(new Error(own)) !== null;
}

async function check(traced: Traced, fault: CallFault, nth: number): Promise<void> {
  const { workload, root, log } = traced;
  await begin(traced);
  const run = await runWith(fault, { script: workload.script, folder: root, log });
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
    assert.ok(isSaid(run.said), `it ends without a sentence: ${run.said.slice(0, 300)}`);
  } else if (run.met) sometimes("the workload goes on behind a call that failed");
  // What a disk has lied about is lost; all else is read, and the next one is written.
  await workload.check(root, isLie(fault) ? [] : run.acknowledged, nth);
}

const REACHES = [
  "the workload is killed in a call",
  "the workload cannot go on, and says so",
  "the workload goes on behind a call that failed",
  "a write is cut short",
  "a rename fails, or is the last call",
];

export function callsLoop(
  asked: Pick<Loop, "name" | "about" | "reaches"> & { workloads: readonly Workload[] },
): Loop {
  return tracedLoop<CallFault>({
    ...asked,
    reaches: [...REACHES, ...asked.reaches],
    async points({ workload, root, log }) {
      return [...callFaults(await namedCalls(workload.script, root, log), MOST)];
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
