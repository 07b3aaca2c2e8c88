import type { SearchState, SpacePoint } from "../space.ts";
import type { Features } from "./features.ts";
import { fitBest, type Model, type Prediction } from "./gaussian_process.ts";
import { learnedModel } from "./learned.ts";
import { bentScale, type Measured, plainScale, type Scale } from "./objectives.ts";

/** One objective: the scale on which it is minimised, and its model; null: a formula tells it. */
export interface Goal {
  readonly scale: Scale;
  readonly model: Model | null;
  /** What is expected of a point on the scale, before the model: it is of what differs from that. */
  prior(point: SpacePoint): Prediction;
  /** Whether that is by earlier studies. */
  readonly learns: boolean;
}

/** Where nothing is expected. */
export const nothing = (): Prediction => ({ mean: 0, deviation: 0 });

/**
 * What an objective's model says of a point, what is expected of it counted in: as far as what was measured does
 * not tell of the point, the expectation's own doubt remains. Null: it has no model.
 */
export function predicted(
  { model, prior }: Goal,
  point: SpacePoint,
  row: Float64Array,
): Prediction | null {
  if (model === null) return null;
  const { mean, deviation } = model.predict(row);
  const before = prior(point);
  const untold = model.spread > 0 ? Math.min(1, deviation / model.spread) : 0;
  return {
    mean: mean + before.mean,
    deviation: Math.hypot(deviation, untold * before.deviation),
  };
}

/** What formulas expect of one objective; none: nothing is known, or not of every measured point. */
function expectedOf({ expected }: SearchState, measured: readonly Measured[], m: number) {
  const of = (point: SpacePoint) => expected?.(point)[m] ?? null;
  const all = measured.every(({ point }) => of(point) !== null);
  return expected === undefined || !all ? null : of;
}

/** Every way to expect something of an objective on a scale: by formulas, by earlier studies, not at all. */
function priorsOn(
  scale: Scale,
  state: SearchState,
  features: Features,
  measured: readonly Measured[],
  m: number,
): Pick<Goal, "prior" | "learns">[] {
  const expected = expectedOf(state, measured, m);
  const model = learnedModel(state, features, scale, m);
  const told = (point: SpacePoint) => ({
    mean: scale.scaled(expected?.(point) ?? NaN),
    deviation: 0,
  });
  const learned = (point: SpacePoint) => model!.predict(features.rowOf(point));
  return [
    ...(expected === null ? [] : [{ prior: told, learns: false }]),
    ...(model === null ? [] : [{ prior: learned, learns: true }]),
    { prior: nothing, learns: false },
  ];
}

/**
 * The objective on the scale on which its model explains it best, less what formulas or earlier studies expect
 * of it where that explains the values better than the points alone do.
 */
export function goalOf(
  state: SearchState,
  features: Features,
  rows: readonly Float64Array[],
  measured: readonly Measured[],
  m: number,
): Goal {
  const direction = state.directions[m]!;
  const values = measured.map((one) => one.values[m]!);
  const scales = [plainScale(direction), bentScale(direction, values)];
  const views = scales.flatMap((scale) =>
    priorsOn(scale, state, features, measured, m).map((prior) => ({ scale, ...prior }))
  );
  const { model, way } = fitBest(
    features,
    views.map(({ scale: { scaled, stretch }, prior }) => {
      const stretches = values.map(stretch);
      const errors = measured.map(({ errors }, i) => (errors?.[m] ?? 0) * stretches[i]!);
      const variances = errors.map((error) => error ** 2 || 0);
      const beyond = measured.map(({ point }, i) => scaled(values[i]!) - prior(point).mean);
      return { rows, values: beyond, variances, stretches };
    }),
  );
  return { model, ...views[way]! };
}
