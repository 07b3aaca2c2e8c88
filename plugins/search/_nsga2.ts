import {
  type Algorithm,
  builtPoint,
  type Dimension,
  drawOpenPoint,
  nextInitial,
  openPoints,
  paretoRanks,
  type PointValue,
  type SearchState,
  type Seen,
  type SpacePoint,
  unitOf,
  valueAt,
} from "../../core/mod.ts";

/** Small: a study of a hundred trials is to see five generations. */
const POPULATION = 20;
/** Points drawn at random before parents are chosen. */
const BEGINNING = 10;
const CROSSOVER = 0.9;
/** Spread of simulated binary crossover and of polynomial mutation; more is nearer to the parents. */
const CROSSOVER_SPREAD = 10;
const MUTATION_SPREAD = 20;
/** Children that are made before a point is drawn instead. */
const CHILDREN = 60;

/** How lonely each point of one rank is among the others: Infinity at the ends (Deb et al. 2002). */
export function crowdingDistances(points: readonly (readonly number[])[]): number[] {
  const distances = points.map(() => 0);
  for (let k = 0; k < (points[0]?.length ?? 0); k++) {
    const order = points.map((_, i) => i).sort((i, j) => points[i]![k]! - points[j]![k]!);
    const [first, last] = [order[0]!, order.at(-1)!];
    const span = points[last]![k]! - points[first]![k]!;
    distances[first] = distances[last] = Infinity;
    if (!(span > 0)) continue;
    for (let at = 1; at < order.length - 1; at++) {
      const [before, after] = [order[at - 1]!, order[at + 1]!];
      distances[order[at]!]! += (points[after]![k]! - points[before]![k]!) / span;
    }
  }
  return distances;
}

/** What of an individual decides who survives: worse classes come last, whatever their values. */
interface Individual {
  readonly point: SpacePoint;
  readonly values: readonly number[];
  /** 0: measured to the end; 1: stopped on a lower rung, whose values are of another kind. */
  readonly rung: number;
  readonly violation: number;
}

function individuals(seen: readonly Seen[]): Individual[] {
  return seen.flatMap(({ point, state, values, violations = [] }) => {
    if (values === null || (state !== "done" && state !== "stopped")) return [];
    const violation = violations.reduce((sum, one) => sum + Math.max(0, one), 0);
    return [{ point, values, rung: state === "done" ? 0 : 1, violation }];
  });
}

/**
 * The fittest first: what meets the constraints before what does not, by rank, then by crowding (the
 * constrained domination of Deb et al. 2002); what was stopped early behind what was not.
 */
export function bySurvival(
  { seen, directions }: Pick<SearchState, "seen" | "directions">,
): SpacePoint[] {
  const all = individuals(seen);
  const classes = [0, 1].flatMap((rung) => [
    all.filter((one) => one.rung === rung && one.violation === 0),
    ...all.filter((one) => one.rung === rung && one.violation > 0)
      .sort((a, b) => a.violation - b.violation).map((one) => [one]),
  ]);
  return classes.flatMap((own) => {
    const ranks = paretoRanks(own.map(({ values }) => values), directions);
    const crowding = new Map<Individual, number>();
    for (const rank of new Set(ranks)) {
      const level = own.filter((_, i) => ranks[i] === rank);
      crowdingDistances(level.map(({ values }) => values))
        .forEach((distance, i) => crowding.set(level[i]!, distance));
    }
    const rankOf = new Map(own.map((one, i) => [one, ranks[i]!]));
    const lonely = (one: Individual) => Math.min(crowding.get(one)!, Number.MAX_VALUE);
    return own.toSorted((a, b) => rankOf.get(a)! - rankOf.get(b)! || lonely(b) - lonely(a));
  }).map(({ point }) => point);
}

/** Simulated binary crossover of two places: as far from the parents as they are from each other. */
function between(a: number, b: number, random: () => number): number {
  const u = random();
  const spread = u < 0.5
    ? (2 * u) ** (1 / (CROSSOVER_SPREAD + 1))
    : (2 * (1 - u)) ** (-1 / (CROSSOVER_SPREAD + 1));
  return Math.min(1, Math.max(0, ((a + b) - spread * (b - a)) / 2));
}

/** Polynomial mutation of a place. */
function moved(unit: number, random: () => number): number {
  const u = random();
  const power = 1 / (MUTATION_SPREAD + 1);
  const step = u < 0.5 ? (2 * u) ** power - 1 : 1 - (2 * (1 - u)) ** power;
  return Math.min(1, Math.max(0, unit + step));
}

/** A value of the child where both parents have one. */
function crossed(dimension: Dimension, a: PointValue, b: PointValue, random: () => number) {
  const [first, second] = random() < 0.5 ? [a, b] : [b, a];
  if (a === b || dimension.kind === "choice" || random() < 0.5) return first;
  return valueAt(dimension, between(unitOf(dimension, first), unitOf(dimension, second), random));
}

function mutated(dimension: Dimension, value: PointValue, random: () => number): PointValue {
  if (dimension.kind === "choice") {
    const others = dimension.choices!.filter((one) => one !== value);
    return others[Math.floor(random() * others.length)] ?? value;
  }
  if (dimension.kind === "real") {
    return valueAt(dimension, moved(unitOf(dimension, value), random));
  }
  // A step of a whole number or along a list is at least one.
  const drawn = valueAt(dimension, moved(unitOf(dimension, value), random));
  return drawn === value ? valueAt(dimension, random()) : drawn;
}

/** A child: dimension by dimension from the parents that have it, drawn anew where neither has. */
function childOf(
  a: SpacePoint,
  b: SpacePoint,
  { space, random }: Pick<SearchState, "space" | "random">,
): SpacePoint {
  const crosses = random() < CROSSOVER;
  const rate = 1 / Math.max(1, Object.keys(a).length);
  return builtPoint(space, (dimension) => {
    const [x, y] = [a[dimension.name], crosses ? b[dimension.name] : undefined];
    const inherited = x !== undefined && y !== undefined
      ? crossed(dimension, x, y, random)
      : x ?? y ?? valueAt(dimension, random());
    return random() < rate ? mutated(dimension, inherited, random) : inherited;
  });
}

/**
 * NSGA-II (Deb et al. 2002), one child at a time: the parents are the fittest of all that are measured so
 * far, in whatever order they ended, and a child that was tried or cannot be is made anew.
 */
export const nsga2: Algorithm = (state) => {
  const { seen, random } = state;
  const isOpen = openPoints(state);
  const initial = nextInitial(state, isOpen);
  if (initial !== null) return { point: initial, mode: "explore", reason: "a point to begin with" };
  const parents = bySurvival(state).slice(0, POPULATION);
  const drawn = (reason: string) => {
    const point = drawOpenPoint(state, isOpen);
    return point === null ? null : { point, mode: "explore" as const, reason };
  };
  if (parents.length < 2 || seen.length < BEGINNING) return drawn("drawn for the first generation");
  // Of two drawn, the fitter one, which stands first.
  const chosen = () =>
    Math.min(Math.floor(random() * parents.length), Math.floor(random() * parents.length));
  for (let attempt = 0; attempt < CHILDREN; attempt++) {
    const [one, other] = [chosen(), chosen()];
    const point = childOf(parents[one]!, parents[other]!, state);
    const reason = `a child of the fittest ${parents.length}: numbers ${one + 1} and ${other + 1}`;
    if (isOpen(point)) return { point, mode: "exploit", reason };
  }
  return drawn("drawn at random, as no child was new");
};
