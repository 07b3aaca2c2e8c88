/**
 * The lower triangle L of a positive definite matrix, L Lᵀ = A, row by row in n² numbers; null where it
 * is not positive definite. Reads the lower triangle alone.
 */
export function cholesky(matrix: Float64Array, n: number): Float64Array | null {
  const lower = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const row = i * n;
    for (let j = 0; j <= i; j++) {
      const other = j * n;
      let sum = matrix[row + j]!;
      for (let k = 0; k < j; k++) sum -= lower[row + k]! * lower[other + k]!;
      if (j < i) lower[row + j] = sum / lower[other + j]!;
      else if (sum > 0) lower[row + i] = Math.sqrt(sum);
      else return null;
    }
  }
  return lower;
}

/** The inverse of A from its lower triangle L: all of the symmetric matrix. */
export function inverseOf(lower: Float64Array, n: number): Float64Array {
  // L⁻¹ by rows of its transpose, so that the product runs along rows, too.
  const columns = new Float64Array(n * n);
  for (let j = 0; j < n; j++) {
    const own = j * n;
    columns[own + j] = 1 / lower[own + j]!;
    for (let i = j + 1; i < n; i++) {
      const row = i * n;
      let sum = 0;
      for (let k = j; k < i; k++) sum -= lower[row + k]! * columns[own + k]!;
      columns[own + i] = sum / lower[row + i]!;
    }
  }
  const inverse = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = 0;
      for (let k = i; k < n; k++) sum += columns[i * n + k]! * columns[j * n + k]!;
      inverse[i * n + j] = sum;
      inverse[j * n + i] = sum;
    }
  }
  return inverse;
}

/** The logarithm of a matrix' determinant from its lower triangle. */
export function logDeterminant(lower: Float64Array, n: number): number {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += Math.log(lower[i * n + i]!);
  return 2 * sum;
}

/** A matrix, row by row, times a vector. */
export function times(matrix: Float64Array, vector: Float64Array, n: number): Float64Array {
  const product = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const row = i * n;
    let sum = 0;
    for (let j = 0; j < n; j++) sum += matrix[row + j]! * vector[j]!;
    product[i] = sum;
  }
  return product;
}
