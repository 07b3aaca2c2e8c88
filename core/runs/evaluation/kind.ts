import { defineKind } from "../run_kind.ts";
import { evaluationSpec } from "./evaluation_spec.ts";
import { EVALUATION_NEEDS } from "./needs.ts";
import { EvaluationOnly } from "./plan.ts";
import { runEvaluation } from "./run_evaluation.ts";

const plan = {
  evaluation: EvaluationOnly.prefault({}).describe("only evaluate: nothing is compressed"),
};

/** The figures of a model as it is, which lies here or is behind a server. */
export const evaluation = defineKind("evaluation", plan, {
  summary: "measures a model as it is, here or behind a server, and compresses nothing",
  does: "only evaluates",
  does_again: "evaluates anew",
  needs: EVALUATION_NEEDS,
  shown: {
    parts: [
      "evaluated",
      "own",
      "scores",
      "missing",
      "alerts",
      "protocol",
      "model",
      "samples",
      "run_again",
      "time",
      "cite",
    ],
    rows: "scores",
  },
  spec: (request, facts, plugins) =>
    evaluationSpec(request, request.evaluation.endpoint, facts, plugins),
  asks: ({ evaluation: { configuration: _, rubric: __, ...asking } }) => asking,
  rubric: ({ evaluation: { rubric } }) => rubric ?? null,
  drive: runEvaluation,
  choose: () => null,
});
