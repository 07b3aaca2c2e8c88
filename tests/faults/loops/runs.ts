/** Whole runs with their workers, as one starts them: killed at an answer, gone wrong, on a full disk. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { shareEnvironments } from "../../python-backends/scripted_worker.ts";
import { injecting, type Loop, sometimes } from "../loop.ts";
import { boardKills } from "../runs/board_kills.ts";
import { experimentFaults } from "../runs/experiment_faults.ts";
import { programKills } from "../runs/program_kills.ts";
import { recoveryFaults } from "../runs/recovery_faults.ts";
import { folderIn, type RunFaults } from "../runs/run_faults.ts";
import { scoreKills } from "../runs/score_kills.ts";
import { stagedFaults } from "../runs/staged_faults.ts";
import { sweepKills } from "../runs/sweep_kills.ts";
import { inTurn } from "../shuffled_places.ts";

const KINDS: readonly RunFaults[] = [
  ...[programKills, sweepKills, scoreKills, boardKills],
  ...[stagedFaults, recoveryFaults, experimentFaults],
];

async function pointsHere() {
  const found: { of: RunFaults; point: string }[] = [];
  for (const of of KINDS) {
    const lacks = await of.lacks?.() ?? null;
    if (lacks !== null) console.log(`skipped: ${of.name} of the loop runs: ${lacks}`);
    else found.push(...of.points.map((point) => ({ of, point })));
  }
  return found;
}

export const runs: Loop = {
  name: "runs",
  about: "a whole run with its workers: killed at an answer, gone wrong, on a full disk",
  reaches: [programKills, sweepKills, scoreKills].map(({ name }) => `runs: ${name}`),
  async open(seed, folder) {
    await shareEnvironments("default", "openvino_export", "llama_cpp");
    const points = await pointsHere();
    const order = inTurn(points.map(({ of }) => of.name), seed);
    const opened = new Map<RunFaults, ReturnType<RunFaults["open"]>>();
    return {
      points: points.length,
      async at(n) {
        const found = points[order[n] ?? -1];
        if (found === undefined) return undefined;
        const { of, point } = found;
        const injected = { file: of.name, call: point, kind: "survivable" } as const;
        return await injecting(injected, async () => {
          const own = opened.get(of) ?? of.open(folderIn(folder, of.name));
          opened.set(of, own);
          const place = folderIn(folder, `point-${n}`);
          await (await own)(point, place);
          rmSync(join(place), { recursive: true, force: true });
          sometimes(`runs: ${of.name}`);
        });
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
};
