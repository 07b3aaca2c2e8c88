/** What the loops over traced workloads have in common: each workload is traced once, then hit at its points. */
import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Injected, Loop } from "../loop.ts";
import { inTurn } from "../shuffled_places.ts";
import type { Workload } from "../workloads/workload.ts";
import { lacksStrace } from "./record.ts";

/** A workload in its folder, and where its calls are traced. */
export interface Traced {
  readonly workload: Workload;
  readonly root: string;
  readonly log: string;
}

/** An empty folder, or one with what the workload begins with: that is made once, and copied. */
export async function begin({ workload, root }: Traced): Promise<void> {
  rmSync(root, { recursive: true, force: true });
  const prepared = `${root}.prepared`;
  if (existsSync(prepared)) return cpSync(prepared, root, { recursive: true });
  mkdirSync(root);
  await workload.prepare?.(root);
  cpSync(root, prepared, { recursive: true });
}

interface Asked<P> extends Pick<Loop, "name" | "about" | "reaches"> {
  readonly workloads: readonly Workload[];
  /** Traces a workload, and gives what may be done to it. */
  points(traced: Traced, seed: number): Promise<readonly P[]>;
  /** Where and how a point hits, in words: of each the first points of a walk have one. */
  stratumOf(point: P): string;
  /** Does one of them, the nth of the walk, and checks what the product's start makes of it. */
  hit(traced: Traced, point: P, n: number): Promise<Injected>;
}

/** Names that are drawn, and places, make no stratum. */
const withoutNumbers = (text: string) => text.replaceAll(/[0-9a-f]{6,}|\d+/g, "#");

/** A loop that is skipped, with the reason, where calls cannot be traced. */
export function tracedLoop<P>(
  { name, about, reaches, workloads, points: pointsOf, stratumOf, hit }: Asked<P>,
): Loop {
  const lacks = lacksStrace();
  return {
    ...{ name, about, reaches: lacks === null ? reaches : [] },
    async open(seed, folder) {
      if (lacks !== null) console.log(`skipped: the loop ${name}: ${lacks}`);
      const points: { traced: Traced; point: P }[] = [];
      for (const workload of lacks === null ? workloads : []) {
        const root = join(Deno.realPathSync(folder), workload.name);
        const traced = { workload, root, log: join(folder, `${workload.name}.trace`) };
        await begin(traced);
        for (const point of await pointsOf(traced, seed)) points.push({ traced, point });
      }
      const strata = points.map(({ traced, point }) =>
        `${traced.workload.name} ${stratumOf(point)}`
      );
      const order = inTurn(strata.map(withoutNumbers), seed);
      return {
        points: points.length,
        async at(n) {
          const found = points[order[n] ?? -1];
          return found === undefined ? undefined : await hit(found.traced, found.point, n);
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    },
  };
}
