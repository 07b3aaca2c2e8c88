import type { PlainLoad } from "../schemas/artifact.ts";

/**
 * Least cosine of the logits that the printed lines give with the evaluated ones. In float32 the same
 * weights give 1 but for the last digits; in 16 bits, or where inputs are rounded, which turns last
 * digits into whole steps, 0.9995 and more were seen; without its adapter a model had 0.979.
 */
const LEAST_COSINE = { exact: 0.9999, rounded: 0.99 } as const;

/** Why what the printed lines give is not what was evaluated, as the end of a sentence; null: it is. */
function plainLoadFault(
  { dtype, problem, cosine }: PlainLoad,
  activation_bits: number | null,
): string | null {
  if (problem !== null) return dtype === null ? problem : `in ${dtype} ${problem}`;
  const exact = dtype === "float32" && activation_bits === null;
  const least = exact ? LEAST_COSINE.exact : LEAST_COSINE.rounded;
  if (cosine !== null && cosine >= least) return null;
  return `in ${dtype} its logits have a cosine of ${
    cosine?.toFixed(4) ?? "no number"
  } with those ` +
    `that were evaluated, below ${least}`;
}

/** What the printed lines give beside what was evaluated, in a sentence. */
function plainLoadNote({ loaded_by, dtype, kl, tokens }: PlainLoad): string {
  const far = kl === null ? "no number" : kl < 5e-7 ? "below 1e-6" : kl.toPrecision(2);
  return `by the plain load its logits in ${dtype} have a KL of ${far} nats per token ` +
    `from those that are evaluated (${tokens} tokens, ${loaded_by})`;
}

/** What an action's stage says of who loads its artifact. */
interface Loadable {
  readonly loader: string;
  readonly notes: readonly string[];
  readonly activation_bits: number | null;
}

/**
 * Who loads an artifact as it was evaluated, now that the printed lines were tried: pare's own loader
 * where they give something else.
 */
export function triedLoader(
  { loader, notes, activation_bits }: Loadable,
  plain: PlainLoad | null | undefined,
): { loader: string; notes: string[] } {
  if (plain === null || plain === undefined) return { loader, notes: [...notes] };
  const fault = plainLoadFault(plain, activation_bits);
  if (fault === null) return { loader, notes: [...notes, plainLoadNote(plain)] };
  const first = `transformers does not give by itself what was evaluated: ${fault} ` +
    `(${plain.loaded_by}): use pare_backends.checkpoint.load_dequantized`;
  return { loader: "pare", notes: [first, ...notes] };
}
