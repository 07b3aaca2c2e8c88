import type { ResolvedAction } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import { predictBytes } from "./chain.ts";
import { readRatio } from "./read_bytes.ts";
import type { AgentMethod } from "./resolve_action.ts";

/** What formulas tell of a recipe before it is tried; null: none does. */
export interface Beforehand {
  /** Of the weights on disk. */
  readonly size_bytes: number | null;
  /** Bytes that a token reads over the original's: what latency falls to at best (the roofline). */
  readonly read_ratio: number | null;
}

/** From shapes alone; a recipe that cannot be, or a plugin that throws, has nothing. */
export function beforehand(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): Beforehand {
  try {
    const size_bytes = predictBytes(actions, methods, facts);
    return {
      size_bytes: Number.isFinite(size_bytes) ? Math.round(size_bytes) : null,
      read_ratio: readRatio(actions, methods, facts),
    };
  } catch {
    return { size_bytes: null, read_ratio: null };
  }
}
