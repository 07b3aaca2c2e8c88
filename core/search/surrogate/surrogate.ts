import { drawOpenPoint, nextInitial, openPoints } from "../open_points.ts";
import { pointKey, pointNeighbours, randomPoint } from "../points.ts";
import type { SearchState, SpacePoint, Suggestion } from "../space.ts";
import { type Aim, aimOf } from "./aim.ts";
import { climb } from "./ascent.ts";
import { crossed, mutated } from "./candidates.ts";
import { measuredOf, turnsTaken } from "./objectives.ts";

/** Points measured before a model is asked. */
const FIRST = 4;
/**
 * How often a look goes far: into all of the space, and uphill from the best points. Of scales alone slopes are to
 * be trusted. Else a model of few points is surest of what is near them: it first looks there alone, until so
 * many points are measured for each dimension.
 */
const FAR = { scales: 2, mixed: 3, measured: 3 };
/** Points looked at: drawn from all of the space, near the front, between members of it. */
const LOOKED_AT = { anywhere: 120, near: 120, between: 40 };
/** Best points that are led uphill, and how often. */
const STARTS = 3;
const ROUNDS = 4;
/** Neighbours looked at in a round. */
const NEIGHBOURS = 40;
const ITERATIONS = 20;

interface Candidate {
  readonly point: SpacePoint;
  readonly promise: number;
}

/** Points by their promise, each looked at once. */
function register({ space }: SearchState, aim: Aim, isOpen: (point: SpacePoint) => boolean) {
  const looked = new Map<string, Candidate>();
  return {
    looked,
    /** The point with its promise; null: it cannot be tried, or promises nothing. */
    look(point: SpacePoint): Candidate | null {
      const key = pointKey(space, point);
      const known = looked.get(key);
      if (known !== undefined) return known;
      if (!isOpen(point)) return null;
      const promise = aim.promise(point, aim.features.rowOf(point));
      const candidate = { point, promise: Number.isNaN(promise) ? -Infinity : promise };
      looked.set(key, candidate);
      return candidate;
    },
  };
}

type Register = ReturnType<typeof register>;

/** Uphill along the scales, in the place of what is chosen. */
function ascended({ features, slope }: Aim, { look }: Register, from: Candidate): Candidate {
  const coordinates = features.slopesAt(from.point);
  if (coordinates.length === 0) return from;
  const row = features.rowOf(from.point);
  const size = coordinates.length;
  const top = climb(
    (place, slopes) => {
      coordinates.forEach((coordinate, c) => row[coordinate] = place[c]!);
      return slope(row, coordinates, slopes);
    },
    Float64Array.from(coordinates, (coordinate) => row[coordinate]!),
    {
      low: new Float64Array(size),
      high: new Float64Array(size).fill(1),
      step: 0.05,
      largest: 0.3,
      iterations: ITERATIONS,
      smallest: 1e-4,
    },
  );
  coordinates.forEach((coordinate, c) => row[coordinate] = top[c]!);
  const found = look(features.moved(from.point, coordinates, row));
  return found !== null && found.promise > from.promise ? found : from;
}

/** Uphill by turns: along the scales, and to the best neighbour. */
function led(state: SearchState, aim: Aim, register: Register, start: Candidate): Candidate {
  let best = start;
  const onlyScales = state.space.dimensions.every(({ kind }) => kind === "real");
  for (let round = 0; round < ROUNDS; round++) {
    let next = aim.sloping && best.promise > -Infinity ? ascended(aim, register, best) : best;
    if (!onlyScales) {
      const near = pointNeighbours({ dimensions: state.space.dimensions }, next.point);
      const step = Math.max(1, near.length / NEIGHBOURS);
      const first = state.random() * step;
      for (let i = first; i < near.length; i += step) {
        const found = register.look(near[Math.floor(i)]!);
        if (found !== null && found.promise > next.promise) next = found;
      }
    }
    if (next === best) break;
    best = next;
    if (onlyScales) break;
  }
  return best;
}

/** Points to look at first: anywhere where the reach is far, near the front, between its members. */
function* drawn(
  { space, random, near }: SearchState,
  { front }: Aim,
  far: boolean,
): Generator<SpacePoint> {
  if (far || front.length === 0) {
    for (let i = 0; i < LOOKED_AT.anywhere; i++) yield randomPoint(space, random);
  }
  if (front.length === 0) return;
  const member = () => front[Math.floor(random() * front.length)]!;
  if (near !== undefined) yield* near(member()).flat();
  for (let i = 0; i < LOOKED_AT.near; i++) yield mutated(space, member(), random);
  for (let i = 0; i < LOOKED_AT.between; i++) yield crossed(space, member(), member(), random);
}

/** Whether it is this turn's to look far. */
function looksFar(state: SearchState, measured: number): boolean {
  const { dimensions } = state.space;
  const scales = dimensions.every(({ kind }) => kind === "real");
  const enough = scales || measured >= FAR.measured * dimensions.length;
  return enough && turnsTaken(state) % (scales ? FAR.scales : FAR.mixed) === 0;
}

/**
 * The point whose expected gain in hypervolume is the largest, times its chance to be allowed: Gaussian
 * processes of what is not known beforehand, their errors and what is under way counted in (Emmerich,
 * Giannakoglou, Naujoks 2006; Gardner et al. 2014). First the initial points, then some drawn ones.
 */
export function surrogate(state: SearchState): Suggestion | null {
  const isOpen = openPoints(state);
  const initial = nextInitial(state, isOpen);
  if (initial !== null) {
    return { point: initial, mode: "explore", reason: "one of the points to begin with" };
  }
  const measured = measuredOf(state).length;
  const draw = (reason: string): Suggestion | null => {
    const point = drawOpenPoint(state, isOpen);
    return point === null ? null : { point, mode: "explore", reason };
  };
  if (measured < Math.min(FIRST, state.space.dimensions.length + 1)) {
    return draw(`drawn at random: ${measured} measured points are too few for a model`);
  }
  const aim = aimOf(state);
  const register_ = register(state, aim, isOpen);
  const far = looksFar(state, measured);
  for (const point of drawn(state, aim, far)) register_.look(point);
  const starts = [...register_.looked.values()].sort((a, b) => b.promise - a.promise)
    .slice(0, STARTS);
  let best: Candidate | null = null;
  for (const start of starts) {
    const end = far ? led(state, aim, register_, start) : start;
    if (best === null || end.promise > best.promise) best = end;
  }
  if (best === null || best.promise === -Infinity) {
    return draw("drawn at random: no point promises to improve the front");
  }
  const { improves, chance } = aim.told(best.point);
  const able = chance < 0.95
    ? `, with a chance of ${Math.round(100 * chance)} % to be allowed`
    : "";
  const learnt = aim.learns ? ", earlier studies counted in" : "";
  return {
    point: best.point,
    mode: improves ? "exploit" : "explore",
    reason: `the largest expected gain in hypervolume of ${register_.looked.size} points` +
      learnt + able,
  };
}
