import type { Dimension, PointValue } from "../../../../core/mod.ts";

type When = NonNullable<Dimension["when"]>;

const under = (when?: When) => when === undefined ? {} : { when };

export const choice = (
  name: string,
  choices: readonly PointValue[],
  when?: When,
): Dimension => ({ name, kind: "choice", choices, ...under(when) });

export const order = (
  name: string,
  choices: readonly PointValue[],
  when?: When,
): Dimension => ({ name, kind: "ordinal", choices, ...under(when) });

export const real = (
  name: string,
  [minimum, maximum]: readonly [number, number],
  when?: When,
): Dimension => ({ name, kind: "real", minimum, maximum, log: false, ...under(when) });

export const whole = (
  name: string,
  [minimum, maximum]: readonly [number, number],
  when?: When,
): Dimension => ({ name, kind: "integer", minimum, maximum, log: false, ...under(when) });

/** Searched by its logarithm. */
export const byLog = (dimension: Dimension): Dimension => ({ ...dimension, log: true });
