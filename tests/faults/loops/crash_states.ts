/** Power cuts by replay: each state of the disk that one may leave, and the product's start on it. */
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type DiskState, diskStates } from "../crash/disk_states.ts";
import { lacksStrace, record } from "../crash/record.ts";
import { injecting, type Loop } from "../loop.ts";
import { shuffledPlaces } from "../shuffled_places.ts";
import { artifactWorkload } from "../workloads/artifact_workload.ts";
import { journalWorkload } from "../workloads/journal_workload.ts";
import { queueWorkload } from "../workloads/queue_workload.ts";
import type { Workload } from "../workloads/workload.ts";

const WORKLOADS: readonly Workload[] = [journalWorkload, queueWorkload, artifactWorkload];

/** A state of the disk, and the workload that it is of. */
interface Point {
  readonly workload: Workload;
  readonly root: string;
  readonly state: DiskState;
}

function lay(root: string, files: DiskState["files"]): void {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  for (const [path, bytes] of files) {
    const place = join(root, path);
    mkdirSync(bytes === null ? place : dirname(place), { recursive: true });
    if (bytes !== null) Deno.writeFileSync(place, bytes);
  }
}

export const crash_states: Loop = {
  name: "crash_states",
  about: "each state that a power cut may leave of a study, a queue and shared artifacts",
  reaches: lacksStrace() === null
    ? [
      "a power cut leaves a torn journal",
      "an index is made after a power cut",
      "a collection after a power cut takes what nobody needs",
    ]
    : [],
  async open(seed, folder) {
    const lacks = lacksStrace();
    if (lacks !== null) console.log(`skipped: the loop crash_states: ${lacks}`);
    const points: Point[] = [];
    for (const workload of lacks === null ? WORKLOADS : []) {
      const root = join(Deno.realPathSync(folder), workload.name);
      mkdirSync(root);
      const operations = await record(
        workload.script,
        root,
        join(folder, `${workload.name}.trace`),
      );
      for (const state of diskStates(root, operations, seed)) {
        points.push({ workload, root, state });
      }
    }
    const order = shuffledPlaces(points.length, seed);
    return {
      points: points.length,
      async at(n) {
        const point = points[order[n] ?? -1];
        if (point === undefined) return undefined;
        const { workload, root, state: { files, acknowledged, file, call } } = point;
        lay(root, files);
        return await injecting(
          { file: `${workload.name}/${file}`, call, kind: "survivable" },
          () => workload.check(root, acknowledged, n),
        );
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
};
