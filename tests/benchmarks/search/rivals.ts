import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import {
  builtPoint,
  checkPoint,
  type Space,
  type SpacePoint,
  unitOf,
  valueAt,
} from "../../../core/mod.ts";
import { startChild } from "../../../python-backends/child/start_child.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { type Outcome, toldLimits, trying } from "./problems/outcomes.ts";
import type { Problem } from "./problems/problem.ts";
import { type SearchRun, searchRun, startPoints } from "./run_search.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** The point at a place of the unit cube, which has one number a dimension of the space. */
function pointAt(space: Space, units: readonly number[]): SpacePoint {
  const at = new Map(space.dimensions.map(({ name }, i) => [name, units[i]!]));
  return builtPoint(space, (dimension) => valueAt(dimension, at.get(dimension.name)!));
}

/** The point's place in the unit cube; null: it has no value there. */
function unitsOf({ dimensions }: Space, point: SpacePoint): (number | null)[] {
  return dimensions.map((dimension) => {
    const value = point[dimension.name];
    return value === undefined ? null : unitOf(dimension, value);
  });
}

/** The rivals: what `rivals.py` knows. */
export const RIVALS = [
  "optuna_random",
  "optuna_nsga2",
  "optuna_tpe",
  "optuna_tpe_group",
  "optuna_gp",
  "pymoo_nsga2",
] as const;
export type Rival = typeof RIVALS[number];

const Told = z.union([
  z.strictObject({ point: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])) }),
  z.strictObject({ units: z.array(z.number()) }),
  z.strictObject({ suggestion_ms: z.number() }),
]);

/** A process of the rivals that takes one run after the other. */
export interface RivalProcess {
  run(
    problem: Problem,
    rival: Rival,
    how: { seed: number; trials: number; own_start?: boolean },
  ): Promise<SearchRun>;
  end(): void;
}

/** The rivals' Python; made on first use. */
export async function rivalsPython(say: (text: string) => void): Promise<string> {
  const { python } = await ensureEnvironment("search_rivals", {
    pins_directory: `${HERE}/rivals_env`,
    onProgress: ({ line }) => say(line),
  });
  return python;
}

export function startRivals(python: string): RivalProcess {
  const child = startChild({
    argv: [python, `${HERE}/rivals.py`],
    env: { OMP_NUM_THREADS: "1", PYTHONDONTWRITEBYTECODE: "1" },
  });
  const lines = createInterface({ input: child.output! })[Symbol.asyncIterator]();
  const write = (message: unknown) => void child.input.write(JSON.stringify(message) + "\n");
  const read = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`The rivals' process ended:\n${child.last_words}`);
    return Told.parse(JSON.parse(value));
  };
  return {
    async run(problem, rival, { seed, trials, own_start = false }) {
      const { space, reference } = problem;
      const attempt = trying(problem, seed);
      const start = own_start ? [] : startPoints(problem, seed).slice(0, trials);
      const start_units = start.map((point) => unitsOf(space, point));
      const { dimensions } = space;
      const limits = toldLimits(problem, reference).length;
      const noisy = problem.errors !== undefined;
      const objectives = reference.length;
      write({ rival, dimensions, objectives, limits, noisy, seed, start, start_units, trials });
      const outcomes: Outcome[] = [];
      for (;;) {
        const told = await read();
        if ("suggestion_ms" in told) {
          const run = { sampler: rival, seed, suggestion_ms: told.suggestion_ms };
          return searchRun(problem, run, outcomes, trials);
        }
        const point: SpacePoint = "point" in told ? told.point : pointAt(space, told.units);
        const reason = checkPoint(space, point);
        if (reason !== null) throw new Error(`${rival} named what is no point: ${reason}`);
        const outcome = attempt(point);
        outcomes.push(outcome);
        const { state, values } = outcome;
        const violations = values === null ? [] : toldLimits(problem, values);
        write({ state, values, violations });
      }
    },
    end: () => child.input.end(),
  };
}
