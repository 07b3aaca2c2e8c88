import type { ConversionFacts } from "../../../core/mod.ts";
import { bytes } from "../../show/view/number_text.ts";

/** What was found of the files, for whoever takes them. */
export function conversionSummary(facts: ConversionFacts, size: number): string[] {
  const least = (values: readonly (number | null)[]) =>
    Math.min(...values.filter((value) => value !== null));
  const { layers, opened_by, logits_cosine, rounded_kl, fused_apart, generated_text } = facts;
  const packed = `${layers.length} packed layers, ${bytes(size)}; multiplied out, each is its ` +
    `source's (least cosine ${least(layers.map(({ cosine }) => cosine)).toFixed(6)})`;
  const lines = [
    layers.length === 0 ? `no packed layer, ${bytes(size)}: all weights are floats` : packed,
  ];
  if (opened_by === null) {
    lines.push(
      "read back by pare's own reading of the format: no library that is installed here loads it",
    );
  } else {
    const opened = layers.map(({ opened_cosine }) => opened_cosine);
    const tried = opened.some((value) => value !== null)
      ? `, least cosine of a layer ${least(opened).toFixed(6)}`
      : "";
    lines.push(
      `loaded by ${opened_by.split(" ").join(" and ")}${tried}, of its logits ` +
        `${logits_cosine?.toFixed(6)}${rounded_kl === null ? "" : ", inputs as they are"}`,
    );
    if (rounded_kl !== null) {
      lines.push(
        `as it rounds inputs, its logits have a cosine of ${
          facts.rounded_cosine?.toFixed(6)
        } with ` +
          `pare's and a KL of ${rounded_kl.toPrecision(2)} nats per token`,
      );
    }
  }
  if (facts.plain_problem !== null) {
    lines.push(
      `note: loaded as config.json says it fails, ${facts.plain_problem}; loaded with ` +
        `dtype="float32" it is what was compared`,
    );
  }
  if (facts.read_otherwise !== null) {
    lines.push(`note: ${facts.read_otherwise}: load it with ${opened_by}, or what builds on it`);
  }
  lines.push(`it generates: ${JSON.stringify(generated_text)}`);
  const [first] = fused_apart;
  if (first !== undefined) {
    lines.push(
      `note: vLLM loads ${first.join(", ")} as one and refuses them as they lie on ` +
        `different grids (${fused_apart.length} such groups); transformers does not`,
    );
  }
  return lines;
}
