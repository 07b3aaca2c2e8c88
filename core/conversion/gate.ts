import type { ConversionFacts, ConvertedLayer } from "./facts.ts";

/** Least cosine of a layer with its source: the integers are the same, only products are rounded. */
export const LEAST_COSINE = 0.9999;
/** Share by which the bytes may differ from the formula. */
const BYTES_SHARE = 0.01;

function layerProblem({ layer, claimed, found, cosine, ...row }: ConvertedLayer): string | null {
  if (claimed === null) return `${layer}: ${row.problem ?? "the files say nothing of it"}`;
  if (found === null) return `${layer}: ${row.problem ?? "its tensors are not in the files"}`;
  if (claimed !== found) {
    return `${layer}: the files say ${claimed}, its tensors are ${found}`;
  }
  if (row.problem !== null) {
    return `${layer}: ${row.problem}${cosine === null ? "" : ` (cosine ${cosine.toFixed(4)})`}`;
  }
  if (cosine === null || !(cosine >= LEAST_COSINE)) {
    return `${layer}: its weights have a cosine of ${cosine} with its source's`;
  }
  if (row.opened_cosine !== null && !(row.opened_cosine >= LEAST_COSINE)) {
    return `${layer}: the library's layer has a cosine of ${row.opened_cosine} with its source's`;
  }
  return null;
}

/** Why converted files cannot be handed on, a sentence each; none: they can. */
export function conversionProblems(facts: ConversionFacts): string[] {
  if (facts.unreadable !== null) return [facts.unreadable];
  const problems = facts.layers.flatMap((layer) => layerProblem(layer) ?? []);
  problems.push(
    ...facts.other_floats.map((name) => `${name}: it is gone, or not as in its source`),
  );
  const { tensor_bytes, formula_bytes, logits_cosine } = facts;
  if (Math.abs(tensor_bytes - formula_bytes) > BYTES_SHARE * formula_bytes) {
    problems.push(`its tensors take ${tensor_bytes} bytes, the format's formula ${formula_bytes}`);
  }
  if (facts.not_opened !== null) problems.push(`its library does not load it: ${facts.not_opened}`);
  if (facts.opened_by !== null && facts.not_opened === null && logits_cosine === null) {
    problems.push("its library loads it, and no logits of it were compared with its source's");
  }
  if (logits_cosine !== null && !(logits_cosine >= LEAST_COSINE)) {
    problems.push(
      `the library's logits have a cosine of ${logits_cosine} with its source's, inputs as they are`,
    );
  }
  // What is broken is not opened, so that it generates nothing.
  if (problems.length === 0 && facts.not_generated !== null) {
    problems.push(`it generates nothing: ${facts.not_generated}`);
  }
  return problems;
}
