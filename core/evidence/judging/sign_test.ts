/** log of n over k, exact enough for any number of answers. */
function logChoose(n: number, k: number): number {
  let sum = 0;
  for (let i = 1; i <= k; i++) sum += Math.log(n - k + i) - Math.log(i);
  return sum;
}

/** Two-sided p of a fair coin that fell one way `most` times of n, most at least half. */
export function binomialTail(most: number, n: number): number {
  let tail = 0;
  for (let k = most; k <= n; k++) tail += Math.exp(logChoose(n, k) - n * Math.LN2);
  return Math.min(1, 2 * tail);
}
