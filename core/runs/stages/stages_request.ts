import { FULL, PROXY } from "../../schemas/fidelity.ts";
import type { RunRequest } from "../../schemas/request.ts";
import type { WrittenDocument } from "../run_kind.ts";
import { StagesPlan } from "./plan.ts";

/** Fields of a staged document that are the plan's; all others are a study's. */
const PLAN_FIELDS = Object.keys(StagesPlan.shape);

/** Every benchmark that a plan names, each once. */
export function benchmarksOf(plan: StagesPlan): string[] {
  return [
    ...new Set([
      ...plan.core,
      ...Object.values(plan.experts).flat(),
      ...plan.edge_of_chaos?.benchmarks ?? [],
      ...Object.values(plan.ethics?.rules ?? {}),
      ...plan.critical.joint?.benchmarks ?? [],
    ]),
  ];
}

/** Twice as many samples on each rung as on the one before, from the first to the most. */
function ladderOf({ first, most }: StagesPlan["samples"]): RunRequest["samples"] {
  const between = [];
  for (let times = 2; first * times < most; times *= 2) {
    between.push({ fidelity: `times_${times}`, samples: first * times });
  }
  return { [PROXY]: first, [FULL]: most, ...(between.length === 0 ? {} : { between }) };
}

/** The plan's fields under `stages`, where the document has them beside the study's. */
function nested(document: WrittenDocument): WrittenDocument {
  if (!Array.isArray(document["stages"])) return document;
  const own = Object.entries(document);
  const of = (inPlan: boolean) =>
    Object.fromEntries(own.filter(([key]) => PLAN_FIELDS.includes(key) === inPlan));
  return { ...of(false), stages: of(true) };
}

/**
 * A staged document as a study's: the plan under `stages`, its benchmarks as the dataset where none is
 * named, and a ladder of rungs from its first samples to its most. What is wrong in it stays wrong:
 * whoever takes it checks it.
 */
export function stagesRequest(document: WrittenDocument): WrittenDocument {
  const request = nested(document);
  const plan = StagesPlan.safeParse(request["stages"]);
  if (!plan.success) return request;
  return {
    dataset: benchmarksOf(plan.data).join(","),
    samples: ladderOf(plan.data.samples),
    ...request,
  };
}
