import { numbersOf, type Problem, realSpace } from "./problem.ts";

const { PI, abs, cos, exp, sin, sqrt } = Math;
const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);

function continuous(
  name: string,
  variables: number,
  objectives: (x: readonly number[]) => number[],
  more: Pick<Problem, "reference" | "maximum" | "tuned">,
): Problem {
  const space = realSpace(variables);
  return { name, space, ...more, evaluate: (point) => objectives(numbersOf(space, point)) };
}

/** ZDT1, 2, 3 (Zitzler, Deb and Thiele 2000): the shape says what the second objective is of f/g. */
function zdt(shape: (f: number, ratio: number) => number) {
  return ([first, ...rest]: readonly number[]): number[] => {
    const g = 1 + 9 * sum(rest) / rest.length;
    return [first!, g * shape(first!, first! / g)];
  };
}

export const zdt1 = zdt((_f, ratio) => 1 - sqrt(ratio));
export const zdt2 = zdt((_f, ratio) => 1 - ratio ** 2);
export const zdt3 = zdt((f, ratio) => 1 - sqrt(ratio) - ratio * sin(10 * PI * f));

export function zdt6([first, ...rest]: readonly number[]): number[] {
  const f = 1 - exp(-4 * first!) * sin(6 * PI * first!) ** 6;
  const g = 1 + 9 * (sum(rest) / rest.length) ** 0.25;
  return [f, g * (1 - (f / g) ** 2)];
}

/** DTLZ2 (Deb, Thiele, Laumanns and Zitzler 2002): a part of a sphere. */
export function dtlz2(objectives: number) {
  return (x: readonly number[]): number[] => {
    const g = sum(x.slice(objectives - 1).map((one) => (one - 0.5) ** 2));
    return Array.from({ length: objectives }, (_, i) => {
      const last = objectives - 1 - i;
      const around = x.slice(0, last).reduce((product, one) => product * cos(one * PI / 2), 1 + g);
      return i === 0 ? around : around * sin(x[last]! * PI / 2);
    });
  };
}

/** Branin and Currin's functions of the same two variables, as in BoTorch. */
export function braninCurrin([u, v]: readonly number[]): number[] {
  const [a, b] = [15 * u! - 5, 15 * v!];
  const bend = b - 5.1 / (4 * PI ** 2) * a ** 2 + 5 / PI * a - 6;
  const branin = bend ** 2 + 10 * (1 - 1 / (8 * PI)) * cos(a) + 10;
  const share = abs(v!) < 1e-300 ? 1 : 1 - exp(-1 / (2 * v!));
  const above = 2300 * u! ** 3 + 1900 * u! ** 2 + 2092 * u! + 60;
  return [branin, share * above / (100 * u! ** 3 + 500 * u! ** 2 + 4 * u! + 20)];
}

/** Mass, acceleration and intrusion of a car's frame by five thicknesses of 1 to 3 mm (Liao et al. 2008). */
export function vehicleSafety(units: readonly number[]): number[] {
  const [a, b, c, d, e] = units.map((one) => 1 + 2 * one) as [
    number,
    number,
    number,
    number,
    number,
  ];
  return [
    1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e,
    6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d + 0.0861 * a * e +
    0.3628 * b * d - 0.1106 * a ** 2 - 0.3437 * c ** 2 + 0.1764 * d ** 2,
    -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c -
    0.0118 * b * d - 0.0204 * c * d - 0.008 * c * e - 0.0241 * b ** 2 + 0.0109 * d ** 2,
  ];
}

/** References and greatest hypervolumes as BoTorch has them; of ZDT6 computed from its true front. */
export const CONTINUOUS: readonly Problem[] = [
  continuous("branin_currin", 2, braninCurrin, {
    reference: [18, 6],
    maximum: 59.36011874867746,
    tuned: true,
  }),
  continuous("vehicle", 5, vehicleSafety, {
    reference: [1864.72022, 11.81993945, 0.2903999384],
    maximum: 246.81607081187002,
    tuned: true,
  }),
  continuous("dtlz2_d6", 6, dtlz2(2), {
    reference: [1.1, 1.1],
    maximum: 1.21 - PI / 4,
    tuned: true,
  }),
  continuous("dtlz2_d12", 12, dtlz2(3), {
    reference: [1.1, 1.1, 1.1],
    maximum: 1.331 - PI / 6,
    tuned: false,
  }),
  continuous("zdt1", 30, zdt1, { reference: [11, 11], maximum: 121 - 1 / 3, tuned: true }),
  continuous("zdt2", 30, zdt2, { reference: [11, 11], maximum: 121 - 2 / 3, tuned: false }),
  continuous("zdt3", 30, zdt3, { reference: [11, 11], maximum: 128.77811613, tuned: false }),
  continuous("zdt6", 10, zdt6, { reference: [11, 11], maximum: 117.5182, tuned: false }),
];
