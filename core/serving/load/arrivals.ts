/** When requests are due, in seconds: at a mean rate, evenly or as a Poisson process. */
export function arrivals(
  rate: number,
  count: number,
  how: "constant" | "poisson",
  random: () => number,
): number[] {
  const due: number[] = [];
  for (let at = 0; due.length < count;) {
    due.push(at);
    // A share of exactly 0 would be an infinite wait.
    at += how === "constant" ? 1 / rate : -Math.log(1 - random()) / rate;
  }
  return due;
}
