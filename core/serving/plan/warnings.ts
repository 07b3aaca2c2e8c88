import type { Card } from "./cards/card_table.ts";
import { type Asked, type Fit, grouped, type Stored } from "./fit.ts";
import type { TextConfig } from "./model/config.ts";

const capability = (card: Card) =>
  card.capability === null ? "" : ` (compute capability ${card.capability.toFixed(1)})`;

/** Cards whose own units multiply eight-bit floats: Ada, Hopper, Blackwell. */
const EIGHT_BITS = 8.9;
/** Cards whose own units multiply four-bit floats. */
const FOUR_BITS = 10;

function formWarnings({ forms }: Stored, card: Card): string[] {
  const found: string[] = [];
  const { name } = forms.main;
  const has = card.capability;
  if (has === null) return found;
  if (/nvfp4|mxfp4/.test(name) && has < FOUR_BITS) {
    found.push(
      `${name} is computed in its own type from compute capability 10.0 on (B200, B300, RTX 5090): ` +
        `${card.name}${
          capability(card)
        } only unpacks it to 16-bit floats, which saves memory and no arithmetic`,
    );
  }
  if (/^(fp8|modelopt)/.test(name) && has < EIGHT_BITS) {
    found.push(
      `FP8 is computed in its own type from compute capability 8.9 on (L40S, H100): ` +
        `${card.name}${capability(card)} only unpacks it to 16-bit floats`,
    );
  }
  return found;
}

function cacheWarnings({ shape }: Stored, card: Card, { cache_type }: Asked): string[] {
  const found: string[] = [];
  const has = card.capability;
  if (has === null) return found;
  const eight = /^fp8/.test(cache_type);
  if (shape.latent && has < 9) {
    found.push(
      `Latent attention (MLA) runs on ${card.name}${
        capability(card)
      } by vLLM's TRITON_MLA alone, as ` +
        `FlashMLA is for Hopper and Blackwell` +
        (eight ? ": it has no FP8 cache, so leave --kv-cache-dtype out" : "; it has no FP8 cache"),
    );
  }
  const indexed = shape.layers.some(({ caches }) =>
    caches.some((one) => one.kind === "latent" && one.index_dim !== null)
  );
  if (indexed && has < 9) {
    found.push(
      `Its sparse attention needs compute capability 9.0 or more: ${card.name} cannot serve it`,
    );
  }
  if (eight && !shape.latent && has < EIGHT_BITS) {
    found.push(
      `An FP8 cache needs compute capability 8.9 in FlashAttention: ${card.name} takes a slower way`,
    );
  }
  if (cache_type === "nvfp4" && has < FOUR_BITS) {
    found.push(`An NVFP4 cache needs compute capability 10.0: ${card.name} has none`);
  }
  return found;
}

/** Owners on the hub whose models ask for a licence to be accepted first. */
const GATED =
  /^(meta-llama|google\/(gemma|medgemma|paligemma|shieldgemma|txgemma)|mistralai\/(Mistral-Large|Ministral|Codestral|Mistral-Small-(3|Instruct-24))|CohereForAI|CohereLabs|bigcode\/starcoder|black-forest|tiiuae\/falcon-180)/i;

function modelWarnings(config: TextConfig, stored: Stored, model: string, asked: Asked): string[] {
  const found: string[] = [];
  const { shape, forms } = stored;
  if (shape.guessed) {
    found.push(
      `The family ${shape.model_type} is not known here: it was read as a plain decoder by its keys, so ` +
        "check weights against the files before you rent cards",
    );
  }
  if (config.quantization_config != null && forms.main.method === null) {
    found.push(
      `Its quantization_config (${
        String(config.quantization_config["quant_method"] ?? "no quant_method")
      }) ` +
        "is not understood here: weights are summed as floats, which is the most they can be",
    );
  }
  const native = shape.native_context;
  if (native !== null && asked.context !== null && asked.context > native) {
    found.push(
      `${grouped(asked.context)} tokens are more than its native context of ` +
        `${grouped(native)}: vLLM refuses them without --hf-overrides that scale its positions`,
    );
  }
  if (GATED.test(model)) {
    found.push(
      `${model} is gated: accept its licence on the hub, and set HF_TOKEN where the server runs`,
    );
  }
  if (shape.outside.some(({ part }) => part === "draft layers")) {
    found.push(
      "Layers for drafts lie in the checkpoint: they are loaded for speculative decoding alone",
    );
  }
  return found;
}

/** What to know before a plan is trusted, a sentence each. */
export function planWarnings(
  config: TextConfig,
  stored: Stored,
  model: string,
  card: Card,
  asked: Asked,
): string[] {
  return [
    ...modelWarnings(config, stored, model, asked),
    ...formWarnings(stored, card),
    ...cacheWarnings(stored, card, asked),
  ];
}

/** Sentences about layouts that were asked for and cannot be. */
export function tooFew(
  card: Card,
  count: number,
  fewest: number | null,
  last: Fit | undefined,
): string[] {
  if (last === undefined || (fewest !== null && fewest <= count)) return [];
  const needs = fewest === null ? "no number up to 128 does" : `it takes ${fewest}`;
  return [
    `${count} × ${card.name} do not hold it: ${last.why_not ?? "no spread is possible"}; ${needs}`,
  ];
}
