/** Each call on the files of a workload fails, lies, or is the last one; then the product starts. */
import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type CallFault, callFaults, runWith } from "../crash/fail_calls.ts";
import { lacksStrace, namedCalls } from "../crash/record.ts";
import { injecting, type Loop, sometimes } from "../loop.ts";
import { shuffledPlaces } from "../shuffled_places.ts";
import { artifactWorkload } from "../workloads/artifact_workload.ts";
import { journalWorkload } from "../workloads/journal_workload.ts";
import { queueWorkload } from "../workloads/queue_workload.ts";
import type { Workload } from "../workloads/workload.ts";

const WORKLOADS: readonly Workload[] = [queueWorkload, journalWorkload, artifactWorkload];
/** Calls of one kind on one file. */
const MOST = 6;

interface Point {
  readonly workload: Workload;
  readonly root: string;
  readonly fault: CallFault;
}

async function check({ workload, root, fault }: Point, nth: number, log: string): Promise<void> {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root);
  const run = await runWith(fault, { script: workload.script, folder: root, log });
  assert.ok(!run.late, `the workload hangs; it said ${run.said.slice(0, 200)}`);
  if (run.met && run.killed) sometimes("the workload is killed in a call");
  else if (run.met && run.said !== "") {
    sometimes("the workload cannot go on, and says so");
    const said = /error: .*?(\w*Error|BadResource|NotFound|\w+): (.{10,})/.test(run.said);
    assert.ok(said, `it ends without a sentence: ${run.said.slice(0, 300)}`);
  } else if (run.met) sometimes("the workload goes on behind a call that failed");
  await workload.check(root, run.acknowledged, nth);
}

export const syscalls: Loop = {
  name: "syscalls",
  about: "each call on the files of a study, a queue and artifacts fails, lies or is the last one",
  reaches: lacksStrace() === null
    ? [
      "the workload is killed in a call",
      "the workload cannot go on, and says so",
      "the workload goes on behind a call that failed",
    ]
    : [],
  async open(seed, folder) {
    const lacks = lacksStrace();
    if (lacks !== null) console.log(`skipped: the loop syscalls: ${lacks}`);
    const log = join(folder, "trace");
    const points: Point[] = [];
    for (const workload of lacks === null ? WORKLOADS : []) {
      const root = join(Deno.realPathSync(folder), workload.name);
      mkdirSync(root);
      const calls = await namedCalls(workload.script, root, log);
      for (const fault of callFaults(calls, MOST)) points.push({ workload, root, fault });
    }
    const order = shuffledPlaces(points.length, seed);
    return {
      points: points.length,
      async at(n) {
        const point = points[order[n] ?? -1];
        if (point === undefined) return undefined;
        const { workload, root, fault: { name, path, nth, does, for_ever } } = point;
        const call = `${name} ${nth}: ${does}${for_ever ? " for ever" : ""}`;
        const file = `${workload.name}/${path.slice(root.length + 1)}`;
        const kind = for_ever ? "hopeless" : "survivable";
        return await injecting({ file, call, kind }, () => check(point, n, log));
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
};
