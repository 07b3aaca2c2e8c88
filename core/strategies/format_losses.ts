import type { ResolvedAction } from "../schemas/action.ts";
import type { Facts, ModelFacts } from "../schemas/facts.ts";
import type { FormatLoss } from "../schemas/proposal.ts";
import { modelAfter } from "./chain.ts";
import type { AgentMethod } from "./resolve_action.ts";
import { weightBytes } from "./weight_bytes.ts";

/** Bits a weight from which on a part lies in floats and loses nothing. */
const FLOATS = 15.5;
/** What the logarithm of a loss falls by a bit: rounding errors are halved, and KL goes by their square. */
const SLOPE = -2 * Math.LN2;
/** Nats per token that count as none, so that there is a logarithm. */
const LEAST = 1e-9;

interface Scored {
  readonly weight_bits: number;
  readonly log: number;
}

/** One loss a width, the least one, by width. */
function byBits(losses: readonly Pick<FormatLoss, "weight_bits" | "kl">[]): Scored[] {
  const least = new Map<number, number>();
  for (const { weight_bits, kl } of losses) {
    least.set(weight_bits, Math.min(kl, least.get(weight_bits) ?? Infinity));
  }
  return [...least].map(([weight_bits, kl]) => ({
    weight_bits,
    log: Math.log(Math.max(kl, LEAST)),
  }))
    .sort((a, b) => a.weight_bits - b.weight_bits);
}

/**
 * Nats per token that a part loses at so many bits a weight: the logarithm of the scored losses drawn
 * straight from one width to the next, and on beyond the ends.
 */
export function lossAt(
  losses: readonly Pick<FormatLoss, "weight_bits" | "kl">[],
  weight_bits: number,
): number {
  const scored = byBits(losses);
  if (scored.length === 0 || weight_bits >= FLOATS) return 0;
  const above = scored.findIndex((one) => one.weight_bits >= weight_bits);
  const right = above < 0 ? scored.length - 1 : Math.max(above, Math.min(1, scored.length - 1));
  const [from, to] = [scored[Math.max(0, right - 1)]!, scored[right]!];
  const slope = from === to ? SLOPE : (to.log - from.log) / (to.weight_bits - from.weight_bits);
  return Math.exp(to.log + slope * (weight_bits - to.weight_bits));
}

function bitsOf(model: ModelFacts, part: FormatLoss["part"]): number {
  const weights = part === "linear" ? model.linear_parameters : model.embedding_parameters;
  return weights > 0 ? 8 * weightBytes(model)[part] / weights : FLOATS;
}

/**
 * Nats per token that rounding takes by the scores of the original's layers, added up as if layers
 * did not know of each other: the bits that the recipe leaves each part say which format. What else a
 * recipe does counts nothing. Null: nobody scored layers, or the original is rounded itself.
 */
export function foretoldLoss(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
  losses: readonly FormatLoss[],
): number | null {
  if (losses.length === 0 || bitsOf(facts.model, "linear") < FLOATS) return null;
  const after = modelAfter(actions, methods, facts);
  const of = (part: FormatLoss["part"]) =>
    lossAt(losses.filter((one) => one.part === part), bitsOf(after, part));
  const loss = of("linear") + of("embedding");
  return Number.isFinite(loss) ? loss : null;
}
