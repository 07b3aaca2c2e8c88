/** ln Γ(x) for x > 0 (Lanczos, g = 7, nine terms; relative error below 1e-14). */
function logGamma(x: number): number {
  const terms = [
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
  ];
  const y = x - 1;
  const t = y + 7.5;
  const sum = terms.reduce((total, term, i) => i === 0 ? term : total + term / (y + i), 0);
  return 0.5 * Math.log(2 * Math.PI) + (y + 0.5) * Math.log(t) - t + Math.log(sum);
}

/** The continued fraction of the incomplete beta function (Numerical Recipes, 6.4; Lentz). */
function betaFraction(a: number, b: number, x: number): number {
  const tiny = 1e-300;
  const kept = (value: number) => Math.abs(value) < tiny ? tiny : value;
  let c = 1;
  let d = 1 / kept(1 - (a + b) * x / (a + 1));
  let fraction = d;
  for (let m = 1; m <= 500; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / kept(1 + even * d);
    c = kept(1 + even / c);
    fraction *= d * c;
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / kept(1 + odd * d);
    c = kept(1 + odd / c);
    fraction *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

/** The regularised incomplete beta function I_x(a, b). */
function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x),
  );
  return x < (a + 1) / (a + b + 2)
    ? front * betaFraction(a, b, x) / a
    : 1 - front * betaFraction(b, a, 1 - x) / b;
}

/** P(T > t) of Student's t with so many degrees of freedom, t ≥ 0. */
function upperTail(t: number, freedom: number): number {
  return 0.5 * incompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/** The 97.5 % point of Student's t: 12.706 at one degree of freedom, 1.960 at endless ones. */
export function t975(freedom: number): number {
  return tAbove(0.025, freedom);
}

/** The point that Student's t exceeds with this probability, at most 1,000. */
export function tAbove(tail: number, freedom: number): number {
  if (!(freedom >= 1)) throw new RangeError(`Cannot take t of ${freedom} degrees of freedom`);
  let [low, high] = [0, 1000];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (upperTail(middle, freedom) > tail) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The chance of a t at least so far from 0 on either side. */
export function twoSided(t: number, freedom: number): number {
  return Math.min(1, 2 * upperTail(Math.abs(t), freedom));
}
