/** The student of every distillation: what is trained of which model. */
import {
  type Change,
  choice,
  type Facts,
  integer,
  type Leaves,
  real,
  type Support,
} from "../../core/mod.ts";
import { factorLeaves } from "../finetuning/_factors.ts";
import {
  factorWeights,
  type Length,
  lengthLabel,
  rankFits,
  trainable,
  TRAINING_KNOBS,
  trainingBytes,
} from "../finetuning/_training.ts";

/** Above this size at 16 bits, factors are trained: all weights take eight times their bytes. */
const ALL_BYTES = 2e9;
const LEAST_COSINE = 0.5;
export const LEAST_LR = 0.000001;

type StudentFrom = "chain" | "named";
type StudentWeights = "all" | "factors" | "adapter";

/** The parts that are trained; biases and positions stay as they are. */
function trainedParts(weights: StudentWeights): Change[] {
  const trained = { effect: "trains", form: null } as const;
  const parts = weights === "all" ? ["linear", "embedding", "norm"] : ["linear"];
  return parts.map((part) => ({ ...trained, part, least_cosine: LEAST_COSINE }));
}

/** The facts of what is trained: a named student's own; what the user gave is the model. */
export function studentFacts(
  { student_from }: { readonly student_from: StudentFrom },
  facts: Facts,
): Facts {
  const { model, student } = facts;
  if (student_from === "chain" || student === undefined) return facts;
  const { model_name, source, path, revision, dtype, original_bytes, grid, chat_template } = model;
  const given = { model_name, source, path, revision, dtype, original_bytes, grid, chat_template };
  return { ...facts, model: { ...student, ...given } };
}

interface Left {
  readonly student_from: StudentFrom;
  readonly student_weights: StudentWeights;
  readonly rank: number;
}

export function studentLeaves(params: Left, facts: Facts): Leaves {
  const { student_from, student_weights, rank } = params;
  const trained = studentFacts(params, facts);
  const own = student_weights === "adapter"
    ? factorLeaves({ rank, merge: false }, trained)
    : { changes: trainedParts(student_weights), model: trained.model };
  if (student_from === "chain") return own;
  // Another model's weights: nothing of them can be compared with the original's.
  const other = ["linear", "embedding", "block"].map((part): Change => (
    { part, effect: "trains", form: null, least_cosine: null }
  ));
  const beside = own.changes.filter(({ part }) => part === "adapter");
  return { changes: [...other, ...beside], model: own.model };
}

/** Knobs of every distillation; the same as in trained_student.py. */
export const STUDENT_KNOBS = {
  student_from: choice(["chain", "named"], {
    default: "chain",
    unit: "model",
    description: "What is trained: the model as the chain left it, or the study's named student",
  }),
  student_weights: choice(["all", "factors", "adapter"], {
    default: "all",
    unit: "weights",
    description: "All weights, low-rank factors merged into them, or factors kept beside them",
  }),
  rank: integer({
    minimum: 1,
    maximum: 64,
    default: 8,
    log: true,
    unit: "columns of each low-rank factor",
    description: "Of factors: how many directions a matrix may be changed in",
    only_where: { knob: "student_weights", is: ["factors", "adapter"] },
  }),
  alpha: integer({
    minimum: 1,
    maximum: 128,
    default: 16,
    log: true,
    unit: "scale of the product, times the rank",
    description: "Of factors: their product is multiplied by alpha / rank",
    only_where: { knob: "student_weights", is: ["factors", "adapter"] },
  }),
  lr: real({
    minimum: LEAST_LR,
    maximum: 0.005,
    default: 0.0001,
    log: true,
    unit: "step of AdamW at its highest",
    description: "How far a step goes; factors take two to five times as much",
    aliases: ["learning_rate"],
  }),
  ...TRAINING_KNOBS,
  steps: { ...TRAINING_KNOBS.steps, default: 40 },
};

/** The requirement's name for how large a student is: here it is what the chain has left. */
export const STUDENT_NAMED_FOR = {
  student_size: "the student is as large as the chain has left it: cut it first with channels or " +
    "depth, or name a smaller model with --student and student_from: named",
};

export const studentOrder = {
  effect: "trains",
  follows: ["trains", "prunes", "resizes"],
  precedes: ["trains", "prunes", "resizes", "rounds", "encodes"],
  reason: "it trains float weights of the shapes that they have then",
} as const;

/** Whether what is named can be trained so. `method`: its name, for the sentence. */
export function studentFits(method: string, params: Left, facts: Facts): Support {
  const { student_from, student_weights, rank } = params;
  if (student_from === "named" && facts.student === undefined) {
    const reason = "a named student takes the untouched model's place: name one with --student " +
      `and let ${method} be the first action`;
    return { ok: false, reason };
  }
  const trained = studentFacts(params, facts);
  return student_weights === "all" ? trainable(trained) : rankFits(rank, trained);
}

/** All weights of a small model, factors beside those of a large one. */
export function autoWeights({ model }: Facts) {
  const factors = model.fp16_bytes > ALL_BYTES;
  const reason = factors
    ? "all weights with their moments would take too much memory"
    : "it is small";
  return { value: factors ? "factors" : "all", reason };
}

/** Words that tell one student from others. */
export function studentLabel(params: Left & Length): string[] {
  return [
    ...(params.student_from === "named" ? ["named student"] : []),
    ...(params.student_weights === "all" ? [] : [params.student_weights]),
    ...lengthLabel(params),
  ];
}

/** The teacher's forward pass on a window, in forward and backward passes of the student. */
export function teacherShare(params: Left, facts: Facts): number {
  const { model: { linear_parameters, embedding_parameters } } = facts;
  const { model } = studentFacts(params, facts);
  const weights = model.linear_parameters + model.embedding_parameters;
  return (linear_parameters + embedding_parameters) / weights / 3;
}

/** Bytes of the student in float32, of what is trained, and of so many copies of a batch's logits. */
export function studentBytes(params: Left & Length, facts: Facts, logits: number): number {
  const trained = studentFacts(params, facts);
  const { student_weights, rank, batch, tokens } = params;
  const { parameters, vocabulary } = trained.model;
  const weights = student_weights === "all" ? parameters : factorWeights(rank, trained);
  const copies = 4 * batch * tokens * logits * vocabulary;
  return 4 * parameters + trainingBytes(weights, params, trained) + copies;
}
