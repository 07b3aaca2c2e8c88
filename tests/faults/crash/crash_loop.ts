/** What the loops of power cuts have in common: each state is laid, and the product starts on it. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { injecting, type Loop } from "../loop.ts";
import type { Workload } from "../workloads/workload.ts";
import { type DiskState, diskStates } from "./disk_states.ts";
import type { Files } from "./laid.ts";
import { record } from "./record.ts";
import { tracedLoop } from "./traced_loop.ts";

function lay(root: string, files: Files): void {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  for (const [path, bytes] of files) {
    const place = join(root, path);
    mkdirSync(bytes === null ? place : dirname(place), { recursive: true });
    if (bytes !== null) Deno.writeFileSync(place, bytes);
  }
}

/** What lies in a folder, folders before what lies in them. */
function standing(root: string): Files {
  const all = readdirSync(root, { withFileTypes: true, recursive: true })
    .map((one) => ({ one, path: join(one.parentPath, one.name) }))
    .sort((a, b) => a.path < b.path ? -1 : 1);
  return new Map(
    all.map(({ one, path }) => [
      relative(root, path),
      one.isDirectory() ? null : Deno.readFileSync(path),
    ]),
  );
}

export function crashLoop(
  asked: Pick<Loop, "name" | "about" | "reaches"> & { workloads: readonly Workload[] },
): Loop {
  return tracedLoop<DiskState>({
    ...asked,
    async points({ workload, root, log }, seed) {
      const base = standing(root);
      const operations = await record(workload.script, root, log);
      const { states, equal } = diskStates({ root, base, operations }, seed, workload.adds_up);
      const of = `${operations.length} calls of the workload ${workload.name}`;
      console.log(`${of}: ${states.length} states, and ${equal} more of the same bytes`);
      return states;
    },
    stratumOf: ({ file, call }) => `${file} ${call}`,
    async hit({ workload, root }, { files, acknowledged, file, call }, n) {
      lay(root, files());
      return await injecting(
        { file: `${workload.name}/${file}`, call, kind: "survivable" },
        () => workload.check(root, acknowledged, n),
      );
    },
  });
}
