import { bytes, number } from "../view/number_text.ts";
import { limitsText } from "../view/limits_text.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, list, paragraph, table } from "./blocks.ts";

/** What was measured, on what. */
export function modelBlocks({ facts, spec }: StudyView): Block[] {
  const { model, device } = facts;
  return [
    heading(2, "Model and machine"),
    ...list([
      `${model.architecture}, ${number(model.parameters / 1e6, 4)} M parameters ` +
      `(${number(model.embedding_parameters / 1e6, 3)} M in embeddings` +
      `${model.tied_embeddings ? ", tied" : ""}), ${model.layers} layers, hidden ` +
      `${model.hidden_size}, ${model.heads} heads, ${model.kv_heads} KV heads; ` +
      `${bytes(model.fp16_bytes)} at 16 bits; came as ${model.source}, ${model.dtype}.`,
      `${device.device_name}, ${device.cores} cores, ${number(device.memory_gb)} GB memory` +
      `${device.vram_gb === null ? ", no GPU" : `, ${number(device.vram_gb)} GB GPU memory`}; ` +
      `torch ${device.torch_version} (${device.torch_build}).`,
      ...spec.warnings,
    ]),
  ];
}

/** Values that nobody gave; `of` says which of them matter here. */
export function assumptionBlocks({ spec }: StudyView, of = (_field: string) => true): Block[] {
  const rows = spec.assumptions.filter(({ field }) => of(field))
    .map((one) => [one.field, String(one.value ?? "none"), one.source, one.reason]);
  if (rows.length === 0) return [];
  return [
    heading(2, "Assumed, because the request did not say"),
    table(["field", "value", "from", "why"], rows),
  ];
}

/** The command, and versions of everything that it depends on. */
export function runAgainBlocks({ provenance, request }: StudyView): Block[] {
  const environments = Object.entries(provenance.environments)
    .map(([name, hash]) => `${name} ${hash}`).join(", ");
  return [
    heading(2, "Run it again"),
    { block: "code", language: "sh", text: provenance.command },
    paragraph(
      `Code ${provenance.code_commit ?? "not in a git checkout"}, pare ` +
        `${provenance.pare_version}, seed ${request.seed}, model revision ` +
        `${
          provenance.model_revision ?? "none given"
        }; environments ${environments}. Limits, as set ` +
        `last: ${limitsText(request) ?? "none"}.`,
    ),
  ];
}
