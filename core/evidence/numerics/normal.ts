const ROOT = Math.sqrt(2 * Math.PI);

/** Density of the standard normal distribution. */
export function normalPdf(z: number): number {
  return Math.exp(-0.5 * z * z) / ROOT;
}

/**
 * Its distribution function, to a relative 1.2e-7 also far out (complementary error function by
 * Chebyshev's polynomials: Press et al., Numerical Recipes, 6.2).
 */
export function normalCdf(z: number): number {
  const x = Math.abs(z) * Math.SQRT1_2;
  const t = 1 / (1 + x / 2);
  const tail = 0.5 * t * Math.exp(
    -x * x - 1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 +
                  t * (-0.18628806 + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 +
                                  t * (-0.82215223 + t * 0.17087277)))))))),
  );
  return z < 0 ? tail : 1 - tail;
}

/** From where on the tail is taken from its series, as the difference of the formula cancels. */
const FAR = -6;

/** By how much a normal number lies below an edge, on average, counting 0 where it lies above. */
export function expectedBelow(edge: number, mean: number, deviation: number): number {
  if (!(deviation > 1e-12)) return Math.max(0, edge - mean);
  const z = (edge - mean) / deviation;
  if (z < FAR) return deviation * normalPdf(z) / (z * z) * (1 - 3 / (z * z));
  return deviation * Math.max(0, z * normalCdf(z) + normalPdf(z));
}
