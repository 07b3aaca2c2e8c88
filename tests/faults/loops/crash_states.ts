/** Power cuts by replay: each state of the disk that one may leave, and the product's start on it. */
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type DiskState, diskStates } from "../crash/disk_states.ts";
import { record } from "../crash/record.ts";
import { tracedLoop } from "../crash/traced_loop.ts";
import { injecting } from "../loop.ts";

function lay(root: string, files: DiskState["files"]): void {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  for (const [path, bytes] of files) {
    const place = join(root, path);
    mkdirSync(bytes === null ? place : dirname(place), { recursive: true });
    if (bytes !== null) Deno.writeFileSync(place, bytes);
  }
}

export const crash_states = tracedLoop<DiskState>({
  name: "crash_states",
  about: "each state that a power cut may leave of a study, a queue and shared artifacts",
  reaches: [
    "a power cut leaves a torn journal",
    "an index is made after a power cut",
    "a collection after a power cut takes what nobody needs",
  ],
  async points({ workload, root, log }, seed) {
    return [...diskStates(root, await record(workload.script, root, log), seed)];
  },
  async hit({ workload, root }, { files, acknowledged, file, call }, n) {
    lay(root, files);
    return await injecting(
      { file: `${workload.name}/${file}`, call, kind: "survivable" },
      () => workload.check(root, acknowledged, n),
    );
  },
});
