/** A part of a model whose bytes are told apart. */
export const PARTS = [
  "embedding",
  "head",
  "norms",
  "attention",
  "state layers",
  "mlp",
  "experts",
  "router",
  "vision",
  "draft layers",
] as const;
export type Part = typeof PARTS[number];

/**
 * How tensor parallelism cuts a matrix: by its outputs or inputs (a share on each card), by KV heads
 * (copied where there are more cards than heads), by the padded vocabulary, or not at all.
 */
export type Cut = "shared out" | "by kv heads" | "by vocabulary" | "copied";

/** One kind of weight: `copies` matrices of `rows` outputs by `columns` inputs. */
export interface Weight {
  readonly part: Part;
  /** As the checkpoint names it, with `{}` for the layer; forms of storage are told by names. */
  readonly name: string;
  readonly layer: number | null;
  readonly rows: number;
  readonly columns: number;
  readonly copies: number;
  /** Values that are never quantized: biases, norms, convolutions. */
  readonly plain: number;
  readonly cut: Cut;
  /** Share of the copies that one token goes through. */
  readonly active: number;
}

/** What a layer keeps of the past. */
export type Cache =
  | {
    readonly kind: "tokens";
    readonly kv_heads: number;
    /** Values of a key and of a value. */
    readonly key_dim: number;
    readonly value_dim: number;
    readonly keeps: "all" | "window" | "chunk";
    /** Tokens of the window or chunk; null: it keeps all. */
    readonly span: number | null;
  }
  /** Latent attention: one vector a token, the same on every card. */
  | { readonly kind: "latent"; readonly width: number; readonly index_dim: number | null }
  /** A state of fixed size a sequence. */
  | { readonly kind: "state"; readonly states: readonly State[] };

export interface State {
  readonly elements: number;
  /** It is kept in 32 bits whatever the model computes in. */
  readonly float32: boolean;
}

export interface Layer {
  readonly weights: readonly Weight[];
  readonly caches: readonly Cache[];
}

/** A number that a count of cards must divide, or be a multiple of where it may be copied. */
export interface Divisor {
  readonly what: string;
  readonly value: number;
  readonly copies: boolean;
}

/** A model as the sums see it. */
export interface Shape {
  readonly model_type: string;
  readonly layers: readonly Layer[];
  /** Embedding, head, last norm, vision; not in any layer. */
  readonly outside: readonly Weight[];
  readonly divisors: readonly Divisor[];
  readonly hidden_size: number;
  readonly vocab_size: number;
  readonly tied: boolean;
  readonly native_context: number | null;
  readonly value_bytes: number;
  /** Widest inner width of a layer that a token goes through. */
  readonly inner_size: number;
  readonly latent: boolean;
  /** The family is not known by name: it was read as a plain decoder. */
  readonly guessed: boolean;
}

/** A matrix of a layer, with what most have. */
export function matrix(
  part: Part,
  name: string,
  [rows, columns]: readonly [number, number],
  more: Partial<Weight> = {},
): Weight {
  return {
    ...{ part, name, rows, columns, layer: null, copies: 1, plain: 0, active: 1 },
    ...{ cut: "shared out" },
    ...more,
  };
}

/** Values that are kept as they are: norms, convolutions, scalars a head. */
export function plain(part: Part, name: string, values: number, cut: Cut = "copied"): Weight {
  return matrix(part, name, [0, 0], { plain: values, cut });
}
