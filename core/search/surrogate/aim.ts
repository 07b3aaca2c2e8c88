import type { SearchState, SpacePoint } from "../space.ts";
import { type Features, featuresOf } from "./features.ts";
import type { Model, Prediction } from "./gaussian_process.ts";
import { type Goal, goalOf, nothing, predicted } from "./goals.ts";
import {
  expectedImprovement,
  type OpenBoxes,
  openBoxes,
  slopingImprovement,
} from "./improvement.ts";
import { addChance, chanceOf, hurdlesOf } from "./hurdles.ts";
import { learnedFront } from "./learned.ts";
import {
  excessOf,
  frontOf,
  isAllowed,
  type Measured,
  measuredOf,
  plainScale,
  referenceOf,
} from "./objectives.ts";

/** Points that models are made of; the best and the latest where there are more. */
const MODELLED = 240;
/** Members of a front that boxes are cut by, by objectives: more make boxes beyond number. */
const FRONT = [0, 1, 400, 120, 24, 14, 10];

/** Below it no gain is told from another: where nothing promises more, the chance to be allowed decides. */
const LEAST_GAIN = 1e-300;

/** How much a point promises: the logarithm of its expected gain times its chance to be allowed. */
export interface Aim {
  readonly features: Features;
  /** Points that moves start from: the front's, and those of an earlier study's. */
  readonly front: readonly SpacePoint[];
  /** Whether slopes can be told: not where a formula or an earlier study foretells an objective. */
  readonly sloping: boolean;
  /** Whether what earlier studies measured is counted in, as it explains what was measured here. */
  readonly learns: boolean;
  promise(point: SpacePoint, row: Float64Array): number;
  /** The same with its slopes along coordinates, written to the last argument. */
  slope(row: Float64Array, coordinates: readonly number[], slopes: Float64Array): number;
  /** Whether the point adds to the front if all is as expected; its chance to be allowed. */
  told(point: SpacePoint): { improves: boolean; chance: number };
}

/** Indices of the points that models are made of: of too many, the front first, then the latest. */
function thinned(measured: readonly Measured[], rows: readonly (readonly number[])[]): number[] {
  const all = measured.map((_, i) => i);
  if (all.length <= MODELLED) return all;
  const front = new Set(frontOf(rows));
  const best = all.filter((i) => front.has(rows[i]!)).slice(-MODELLED / 2);
  const kept = new Set(best);
  return [...best, ...all.filter((i) => !kept.has(i)).slice(-(MODELLED - best.length))];
}

/** Which objectives a formula tells of points beforehand. */
function exactOf({ known, directions }: SearchState, measured: readonly Measured[]): boolean[] {
  const told = measured[0] === undefined ? undefined : known?.(measured[0].point);
  return directions.map((_, m) => typeof told?.[m] === "number");
}

/** The members whose loss would cost most where a front has too many for boxes. */
function limitedFront(
  front: readonly (readonly number[])[],
): (readonly number[])[] {
  const most = FRONT[front[0]?.length ?? 0] ?? 8;
  if (front.length <= most) return [...front];
  if (most === 1) return [front[0]!]; // of one objective: equals, each of them the best
  const sorted = [...front].sort((a, b) => a[0]! - b[0]!);
  return Array.from(
    { length: most },
    (_, i) => sorted[Math.round((i * (sorted.length - 1)) / (most - 1))]!,
  );
}

/** Models of the objectives, the front that they are to improve, and the boxes that it leaves open. */
interface Picture {
  readonly goals: readonly Goal[];
  readonly hurdles: readonly Model[];
  readonly boxes: OpenBoxes;
  readonly parents: readonly SpacePoint[];
}

function pictureOf(state: SearchState, features: Features, measured: readonly Measured[]): Picture {
  const { directions } = state;
  const plain = directions.map(plainScale);
  const chosen = thinned(
    measured,
    measured.map(({ values }) => values.map((value, m) => plain[m]!.scaled(value))),
  )
    .map((i) => measured[i]!);
  const rows = chosen.map(({ point }) => features.rowOf(point));
  const goals = exactOf(state, measured).map((formula, m): Goal =>
    formula
      ? { scale: plain[m]!, model: null, prior: nothing, learns: false }
      : goalOf(state, features, rows, chosen, m)
  );
  const scaled = measured.map(({ values }) =>
    values.map((value, m) => goals[m]!.scale.scaled(value))
  );
  const believed = (
    point: SpacePoint,
    values: readonly number[],
    errors: readonly number[] = [],
  ) => {
    const row = features.rowOf(point);
    return values.map((value, m) =>
      (errors[m] ?? 0) > 0 ? predicted(goals[m]!, point, row)?.mean ?? value : value
    );
  };
  const allowed = measured.flatMap((one, i) =>
    isAllowed(one) ? [{ one, row: believed(one.point, scaled[i]!, one.errors) }] : []
  );
  const front = new Set(frontOf(allowed.map(({ row }) => row)));
  const members = allowed.filter(({ row }) => front.has(row));
  const corner = state.corner?.map((own, m) => goals[m]!.scale.scaled(own));
  const counted = allowed.length > 0 ? allowed.map(({ row }) => row) : scaled;
  const reference = referenceOf(counted, corner);
  const hurdles = hurdlesOf(features, state.seen, measured);
  // What is under way counts as if it brought what is expected (kriging believer, Ginsbourger 2010).
  const pending = state.seen.filter(({ state }) => state === "pending").map(({ point }) => {
    const row = features.rowOf(point);
    const known = state.known?.(point);
    return goals.map((goal, m) =>
      predicted(goal, point, row)?.mean ?? goal.scale.scaled(known?.[m] ?? NaN)
    );
  }).filter((row) => row.every(Number.isFinite));
  const open = limitedFront(frontOf([...members.map(({ row }) => row), ...pending]));
  return {
    goals,
    hurdles,
    boxes: openBoxes(open, reference),
    parents: [
      ...parentsOf(members.map(({ one }) => one), measured),
      ...(goals.some(({ learns }) => learns) ? learnedFront(state) : []),
    ],
  };
}

/** Points that moves start from, at least. */
const PARENTS = 4;

/** The front's members; where they are few, what exceeds limits least, too. */
function parentsOf(members: readonly Measured[], measured: readonly Measured[]): SpacePoint[] {
  const beyond = measured.filter((one) => one.state === "done" && !isAllowed(one))
    .sort((a, b) => excessOf(a) - excessOf(b));
  const more = beyond.slice(0, Math.max(0, PARENTS - members.length));
  return [...members, ...more].map(({ point }) => point);
}

/** What a state's points say of all others; at least one is measured. */
export function aimOf(state: SearchState): Aim {
  const features = featuresOf(state.space);
  const measured = measuredOf(state);
  const { goals, hurdles, boxes, parents } = pictureOf(state, features, measured);
  const formulas = goals.some(({ model }) => model === null);
  const expecting = state.expected !== undefined || state.learned !== undefined;
  const predictions = (point: SpacePoint, row: Float64Array): Prediction[] => {
    const known = formulas ? state.known?.(point) : undefined;
    return goals.map((goal, m) =>
      predicted(goal, point, row) ?? { mean: goal.scale.scaled(known?.[m] ?? NaN), deviation: 0 }
    );
  };
  return {
    features,
    front: parents,
    sloping: !formulas && !expecting,
    learns: goals.some(({ learns }) => learns),
    promise(point, row) {
      const some = predictions(point, row);
      if (!some.every(({ mean }) => Number.isFinite(mean))) return -Infinity;
      const gain = expectedImprovement(boxes, some);
      return Math.log(Math.max(gain, LEAST_GAIN)) + Math.log(chanceOf(hurdles, row));
    },
    slope(row, coordinates, slopes) {
      const sloping = goals.map(({ model }) => model!.slope(row, coordinates));
      const { value, byMean, byDeviation } = slopingImprovement(boxes, sloping);
      slopes.fill(0);
      if (!(value > 0)) return -Infinity;
      sloping.forEach(({ meanSlopes, deviationSlopes }, m) => {
        for (let c = 0; c < coordinates.length; c++) {
          slopes[c]! += (byMean[m]! * meanSlopes[c]! + byDeviation[m]! * deviationSlopes[c]!) /
            value;
        }
      });
      let total = Math.log(value);
      for (const hurdle of hurdles) total += addChance(hurdle, row, coordinates, slopes);
      return total;
    },
    told(point) {
      const row = features.rowOf(point);
      const means = predictions(point, row).map(({ mean }) => ({ mean, deviation: 0 }));
      return { improves: expectedImprovement(boxes, means) > 0, chance: chanceOf(hurdles, row) };
    },
  };
}
