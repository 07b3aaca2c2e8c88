import type { ResolvedAction } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import type { FormatLoss } from "../schemas/proposal.ts";
import { predictBytes } from "./chain.ts";
import { foretoldLoss } from "./format_losses.ts";
import { readRatio } from "./read_bytes.ts";
import type { AgentMethod } from "./resolve_action.ts";

/** What formulas tell of a recipe before it is tried; null: none does. */
export interface Beforehand {
  /** Of the weights on disk. */
  readonly size_bytes: number | null;
  /** Bytes that a token reads over the original's: what latency falls to at best (the roofline). */
  readonly read_ratio: number | null;
  /** Milliseconds that reading them takes at the bandwidth that the baseline was timed with. */
  readonly roofline_ms: number | null;
  /** Nats per token that rounding takes by the scores of the original's layers; what else it does is not told. */
  readonly kl: number | null;
}

/** What formulas go by beside shapes. */
export interface Known {
  /** Of the untouched model, in milliseconds per token; null: it is not timed yet. */
  readonly roofline_ms: number | null;
  readonly format_losses: readonly FormatLoss[];
}

const NOTHING: Beforehand = { size_bytes: null, read_ratio: null, roofline_ms: null, kl: null };

/** From shapes, the baseline's roofline and scores of layers; a recipe that cannot be, or a plugin that throws, has nothing. */
export function beforehand(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
  known: Known,
): Beforehand {
  try {
    const size_bytes = predictBytes(actions, methods, facts);
    const read_ratio = readRatio(actions, methods, facts);
    const { roofline_ms, format_losses } = known;
    return {
      size_bytes: Number.isFinite(size_bytes) ? Math.round(size_bytes) : null,
      read_ratio,
      roofline_ms: read_ratio === null || roofline_ms === null ? null : read_ratio * roofline_ms,
      kl: foretoldLoss(actions, methods, facts, format_losses),
    };
  } catch {
    return NOTHING;
  }
}
