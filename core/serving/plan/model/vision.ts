import type { TextConfig } from "./config.ts";
import { matrix, plain, type Weight } from "./shape.ts";

/**
 * Weights of an image encoder, by the usual transformer's sums and a merger: about a tenth is not sure,
 * which is little beside the text model.
 */
export function visionWeights(config: TextConfig): Weight[] {
  const own = config.vision_config;
  if (own === null || own === undefined) return [];
  const number = (...keys: string[]) => {
    const found = keys.map((key) => own[key]).find((value) => typeof value === "number");
    return typeof found === "number" ? found : undefined;
  };
  const hidden = number("hidden_size", "embed_dim", "vt_hidden_size");
  const layers = number("depth", "num_hidden_layers", "vt_num_hidden_layers");
  if (hidden === undefined || layers === undefined) return [];
  const gated = /pixtral|qwen2_5_vl/.test(String(own["model_type"] ?? config.model_type)) ? 3 : 2;
  const inner = number("intermediate_size", "vt_intermediate_size") ??
    hidden * (number("mlp_ratio") ?? 4);
  const out = number("out_hidden_size") ?? config.hidden_size!;
  const merged = hidden * (number("spatial_merge_size") ?? 1) ** 2;
  const patches = 3 * (number("patch_size") ?? 14) ** 2 * (number("temporal_patch_size") ?? 1);
  const merger = /qwen/.test(config.model_type) ? merged * merged + merged * out : hidden * out;
  const name = "vision_tower.blocks";
  return [
    matrix("vision", `${name}.attn`, [4 * hidden, hidden], { copies: layers, cut: "copied" }),
    matrix("vision", `${name}.mlp`, [gated * inner, hidden], { copies: layers, cut: "copied" }),
    plain("vision", `${name}.norms`, layers * (8 * hidden + inner) + hidden * patches + merger),
  ];
}
