const WORDS: Readonly<Record<string, string>> = {
  f32: "float32",
  f16: "float16",
  bf16: "bfloat16",
};

/** A precision by its usual name. */
export function precisionWords(precision: string): string {
  return WORDS[precision] ?? precision;
}

/** A runtime with the precision that it computes in, such as "llama.cpp (float16)". */
export function runtimeWords(runtime: string, precision: string): string {
  return `${runtime} (${precisionWords(precision)})`;
}

/** What a figure says of where it ran. */
interface Ran {
  readonly runtime: string | null;
  readonly numerics: {
    readonly inference_precision: string;
    readonly activation_group: number;
  } | null;
}

/** The runtime of a figure and how it computed there; null: of none. */
export function ranIn(row: Ran | undefined): string | null {
  if (row?.runtime == null) return null;
  const { runtime, numerics } = row;
  if (numerics === null) return runtime;
  const { inference_precision, activation_group } = numerics;
  return activation_group > 0
    ? `${runtime} (${precisionWords(inference_precision)}, inputs rounded by ${activation_group})`
    : runtimeWords(runtime, inference_precision);
}
