import { qualityMetric } from "../evidence/quality.ts";
import { UsageError } from "../errors.ts";
import type { Spec } from "../schemas/spec.ts";

/** One short question about a constraint that nobody gave. */
export interface Question {
  readonly field: "constraints.max_accuracy_drop" | "constraints.max_vram_gb";
  readonly question: string;
  /** Answer that is offered; without a person it is taken and stays an assumption. */
  readonly fallback: number;
}

/**
 * What to ask before work starts: the accuracy threshold where it is a default and accuracy is
 * measured at all, and the memory limit where a GPU does not tell its own. Empty where the user
 * said everything.
 */
export function missingKeyConstraints(spec: Spec): Question[] {
  const questions: Question[] = [];
  for (const { field, source, value } of spec.assumptions) {
    if (source !== "default") continue;
    if (field === "constraints.max_accuracy_drop" && qualityMetric(spec) === "accuracy") {
      questions.push({
        field,
        question: "How much accuracy may be lost, absolute (0.02 = two points)?",
        fallback: spec.constraints.max_accuracy_drop,
      });
    }
    if (field === "constraints.max_vram_gb" && value === null) {
      questions.push({
        field,
        question: "How much GPU memory may the model take, in GB?",
        fallback: Math.ceil(spec.required_memory_gb),
      });
    }
  }
  return questions;
}

function checkAnswer(field: string, value: number): void {
  if (field === "constraints.max_accuracy_drop" && !(value >= 0 && value <= 1)) {
    throw new UsageError(
      `Cannot take ${value} as the accuracy drop as it must be from 0 to 1, such as 0.02`,
    );
  }
  if (field === "constraints.max_vram_gb" && !(value > 0 && Number.isFinite(value))) {
    throw new UsageError(`Cannot take ${value} GB as the GPU memory as it must be above 0`);
  }
}

/** The spec with a person's answers in force, by field; the assumptions say that they were asked. */
export function applyAnswers(
  spec: Spec,
  answers: Readonly<Partial<Record<Question["field"], number>>>,
): Spec {
  const constraints = { ...spec.constraints };
  let assumptions = spec.assumptions;
  for (const [field, value] of Object.entries(answers)) {
    if (value === undefined) continue;
    checkAnswer(field, value);
    if (field === "constraints.max_accuracy_drop") constraints.max_accuracy_drop = value;
    if (field === "constraints.max_vram_gb") constraints.max_vram_gb = value;
    assumptions = assumptions.map((one) =>
      one.field === field
        ? { ...one, value, source: "asked" as const, reason: "confirmed when asked" }
        : one
    );
  }
  return { ...spec, constraints, assumptions };
}
