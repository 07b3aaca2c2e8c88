import type { ModelFacts } from "../schemas/facts.ts";

/** Yes, or no with the reason that is stored and shown. */
export type Support = { ok: true; reason?: string } | { ok: false; reason: string };

/**
 * What a method changes: an open set. In use are `linear` (linear layers), `embedding` (with the output
 * head), `norm`, `block` (whole layers), `adapter` and `cache`.
 */
export type Part = string;

/**
 * What an action does to a part, as far as actions before and after it care: its weights stay floats
 * (`trains`), many become zero (`prunes`), some go (`resizes`), they become integers on a grid
 * (`rounds`), what is stored gets a shorter code (`encodes`), or the part is no weights but what the
 * model keeps while it runs (`caches`).
 */
export const EFFECTS = ["trains", "prunes", "resizes", "rounds", "encodes", "caches"] as const;
export type Effect = (typeof EFFECTS)[number];

/** What an action may follow and precede on a part that both change: effects, never names. */
export interface Order {
  readonly effect: Effect;
  /** Effects that an earlier action may have had on the part. */
  readonly follows: readonly Effect[];
  /** Effects that a later action may have on it. */
  readonly precedes: readonly Effect[];
  /** Why, as the end of a refusal: "it works on float weights and leaves integers". */
  readonly reason: string;
}

/**
 * How weights are stored: what a runtime must be able to hold. `form` names a form plugin; whatever
 * else it says is that form's own (`plugins/forms`).
 */
export interface StoredForm {
  readonly form: string;
}

/** What an action does to one part. */
export interface Change {
  readonly part: Part;
  readonly effect: Effect;
  /** How the part is stored afterwards; null: as floats, or there are no weights. */
  readonly form: StoredForm | null;
  /**
   * The least cosine with their source's that sound weights of the part can have: it finds broken
   * files, judging is the evaluation's work. Null: they cannot be compared, as shapes change.
   */
  readonly least_cosine: number | null;
  /**
   * What to know of the speed in a runtime that computes with all of it as if nothing had been left
   * out, as a sentence without a full stop. Absent: nothing is to be said.
   */
  readonly no_faster?: string;
}

/** What stays of the keys and values of a prompt, in the layers that keep every token. */
export interface KeptCache {
  /** Tokens that a head keeps, mean over those layers. */
  readonly tokens: number;
  /** How often each is kept: once, or once for each query head of a group. */
  readonly copies: number;
  /** Those of them that are codes, and bits of a value with its scales; absent: none are. */
  readonly coded?: {
    readonly tokens: number;
    readonly key_bits: number;
    readonly value_bits: number;
  };
  /** Bytes that are noted beside each token of a head, such as a score; absent: none. */
  readonly noted_bytes?: number;
}

/** What an action leaves behind. */
export interface Leaves {
  readonly changes: readonly Change[];
  /** The model afterwards, by formula: what the next action of a chain meets. */
  readonly model: ModelFacts;
}
