import type { Action } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import { checkMethod } from "./compatibility.ts";
import { knobCombinations, withoutDefaults } from "./knob_moves.ts";
import type { AgentMethod } from "./resolve_action.ts";
import { bitsLeft } from "./weight_bytes.ts";

/** Bits for an embedding that cost next to nothing in quality. */
const SAFE_BITS = 8;
/** Combinations of knobs looked at in one method. */
const LOOKED_AT = 2000;

interface Candidate {
  readonly action: Action;
  readonly bits: number;
  /** Whether it only runs as floats, whatever it takes on disk. */
  readonly decoded: boolean;
  /** What the method takes at its defaults, by its own estimate. */
  readonly seconds: number;
}

function candidatesOf({ agent, method }: AgentMethod, facts: Facts): Candidate[] {
  if (!checkMethod(method, facts).ok) return [];
  const all = Object.entries(method.knobs);
  const varied = all.filter(([, knob]) => knob.kind === "choice" || knob.kind === "flag");
  const defaults = Object.fromEntries(all.map(([name, knob]) => [name, knob.default]));
  const seconds = method.estimateSeconds(defaults, facts);
  const found: Candidate[] = [];
  let looked = 0;
  for (const combination of knobCombinations(varied)) {
    if (++looked > LOOKED_AT) break;
    const params = { ...defaults, ...combination };
    const { changes, model } = method.leaves(params, facts);
    if (changes.length !== 1 || changes[0]?.part !== "embedding") continue;
    if (!method.accepts(params, facts).ok) continue;
    const bits = bitsLeft("embedding", facts.model, model);
    if (bits === null || bits >= 16) continue;
    const action = { agent, method: method.name, params: withoutDefaults(method.knobs, params) };
    found.push({ action, bits, decoded: changes[0].no_faster !== undefined, seconds });
  }
  return found;
}

/**
 * Actions that change the embedding and nothing else, whichever method offers them: what runs as
 * it is stored first, among that the ones near 8 bits, then those of the quicker method (so near to the
 * original, weighing or training brings little), then those that leave most knobs at their defaults.
 */
export function embeddingActions(methods: readonly AgentMethod[], facts: Facts): Action[] {
  // Scales add a fraction of a bit, which is no reason to prefer another width.
  const distance = ({ bits }: Candidate) => Math.abs(Math.floor(bits) - SAFE_BITS);
  const changes = ({ action }: Candidate) => Object.keys(action.params).length;
  const decoded = (one: Candidate) => Number(one.decoded);
  return methods.flatMap((entry) => candidatesOf(entry, facts))
    .sort((a, b) =>
      decoded(a) - decoded(b) || distance(a) - distance(b) || a.seconds - b.seconds ||
      changes(a) - changes(b) ||
      a.bits - b.bits
    )
    .map(({ action }) => action);
}
