import { execa } from "execa";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { hypervolume, paretoRanks, streamRandom } from "../../../core/mod.ts";

const SIZES = [
  ...[[2, 100], [2, 1000], [3, 100], [3, 1000], [4, 100], [4, 300], [5, 100]].map(
    ([objectives, points]) => ({
      what: "hypervolume" as const,
      objectives: objectives!,
      points: points!,
    }),
  ),
  ...[[2, 1000], [2, 10_000], [3, 1000], [3, 10_000], [4, 1000]].map(
    ([objectives, points]) => ({
      what: "ranks" as const,
      objectives: objectives!,
      points: points!,
    }),
  ),
];
/** Milliseconds in which each is repeated; the shortest counts, as whatever else runs only adds. */
const REPEAT_MS = 600;

const Timed = z.array(z.strictObject({ optuna: z.number().nullable(), moocore: z.number() }));

/** Points on a sphere, all of them of the first front; for ranks in a cube. */
function pointsOf({ what, objectives, points }: typeof SIZES[number]): number[][] {
  const random = streamRandom(1, `${what} ${objectives} ${points}`);
  return Array.from({ length: points }, () => {
    const row = Array.from({ length: objectives }, random);
    if (what === "ranks") return row;
    const length = Math.hypot(...row);
    return row.map((one) => 1 - one / length);
  });
}

function shortest(work: () => unknown): number {
  let best = Infinity;
  for (const end = performance.now() + REPEAT_MS; performance.now() < end;) {
    const begun = performance.now();
    work();
    best = Math.min(best, performance.now() - begun);
  }
  return best;
}

/** A table of the shortest times, ours beside Optuna's and moocore's, in one run. */
export async function frontSpeed(python: string): Promise<string> {
  const cases = SIZES.map((size) => ({ ...size, rows: pointsOf(size) }));
  const script = fileURLToPath(new URL("front_speed.py", import.meta.url));
  const input = JSON.stringify({ repeat_ms: REPEAT_MS, cases });
  const { stdout } = await execa(python, [script], { input, env: { OMP_NUM_THREADS: "1" } });
  const theirs = Timed.parse(JSON.parse(stdout));
  const lines = cases.map(({ what, objectives, points, rows }, i) => {
    const down = Array.from({ length: objectives }, () => "minimize" as const);
    const corner = down.map(() => 1.1);
    const ours = shortest(() =>
      what === "ranks" ? paretoRanks(rows, down) : hypervolume(rows, corner, down)
    );
    const { optuna, moocore } = theirs[i]!;
    const ratio = (value: number) => value < 0.1 ? value.toFixed(3) : value.toFixed(1);
    const times = (peer: number | null) => peer === null ? "–" : `${ratio(peer / ours)}×`;
    const ms = (value: number | null) => value === null ? "–" : value.toFixed(3);
    const cells = [ms(ours), ms(optuna), times(optuna), ms(moocore), times(moocore)];
    return `| ${what} | ${objectives} | ${points} | ${cells.join(" | ")} |`;
  });
  return [
    "| what | objectives | points | pare, ms | Optuna, ms | faster | moocore, ms | faster |",
    "|---|---:|---:|---:|---:|---:|---:|---:|",
    ...lines,
  ].join("\n");
}
