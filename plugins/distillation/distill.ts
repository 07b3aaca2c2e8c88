import {
  type Change,
  choice,
  defineMethod,
  type Facts,
  integer,
  type Leaves,
  real,
  type Support,
} from "../../core/mod.ts";
import { factorLeaves } from "../finetuning/_factors.ts";
import {
  factorWeights,
  lengthLabel,
  nextTraining,
  PROCESS_BYTES,
  rankFits,
  trainable,
  TRAINING_KNOBS,
  trainingBytes,
  trainingSeconds,
} from "../finetuning/_training.ts";

/** The teacher's forward pass on windows that are read once, in forward and backward passes. */
const TEACHER_SHARE = 1 / 3;
/** Log-probabilities of a token beside its logits: of all tokens, and with the teacher's left out. */
const LOGIT_COPIES = 2;
/** Above this size at 16 bits, factors are trained: all weights take eight times their bytes. */
const ALL_BYTES = 2e9;
const LEAST_COSINE = 0.5;
const LEAST_LR = 0.000001;

type StudentFrom = "chain" | "named";
type StudentWeights = "all" | "factors" | "adapter";

/** The parts that are trained; biases and positions stay as they are. */
function trainedParts(weights: StudentWeights): Change[] {
  const trained = { effect: "trains", form: null } as const;
  const parts = weights === "all" ? ["linear", "embedding", "norm"] : ["linear"];
  return parts.map((part) => ({ ...trained, part, least_cosine: LEAST_COSINE }));
}

/** The facts of what is trained: a named student's own; what the user gave is the model. */
function studentFacts({ student_from }: { student_from: StudentFrom }, facts: Facts): Facts {
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

function leaves(params: Left, facts: Facts): Leaves {
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

/** Knowledge distillation, with the study's uncompressed model as the teacher. */
export default defineMethod({
  name: "distill",
  summary: "Trains the chain's model, cut or thinned, by what the uncompressed one answers",
  knobs_named_for: {
    student_size:
      "the student is as large as the chain has left it: cut it first with channels or " +
      "depth, or name a smaller model with --student and student_from: named",
  },
  knobs: {
    kd_temperature: real({
      minimum: 1,
      maximum: 5,
      default: 2,
      unit: "divisor of the logits",
      description: "How much unlikely tokens count in what the teacher says",
      aliases: ["KD_temperature"],
    }),
    kd_share: real({
      minimum: 0.1,
      maximum: 1,
      default: 0.5,
      unit: "share of the loss",
      description: "How much the teacher counts; the rest is the text's own next tokens",
    }),
    divergence: choice(["forward_kl", "reverse_kl", "jensen_shannon"], {
      default: "forward_kl",
      unit: "name",
      description: "KL from the teacher, KL from the student, or the generalised one between them",
    }),
    jsd_beta: real({
      minimum: 0,
      maximum: 1,
      default: 0.5,
      unit: "share of the teacher",
      description: "Of the mixture in jensen_shannon: 0 is forward KL, 1 is reverse KL",
      only_where: { knob: "divergence", is: ["jensen_shannon"] },
    }),
    hidden_weight: real({
      minimum: 0,
      maximum: 1,
      default: 0,
      unit: "times the distance",
      description: "How much the distance of hidden states counts, where the widths are equal",
    }),
    reward_strength: real({
      minimum: 0,
      maximum: 2,
      default: 0,
      unit: "standard deviations",
      description: "How much more windows count that the teacher finds likely; 0: all alike",
    }),
    top_k: integer({
      minimum: 1,
      maximum: 4096,
      default: 64,
      log: true,
      unit: "tokens",
      description: "Most likely tokens of the teacher that are kept, the others as one mass",
    }),
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
  },
  needs: { environment: "default", data: "training", teacher: true, gpu: false },
  leaves,
  order: {
    effect: "trains",
    follows: ["trains", "prunes", "resizes"],
    precedes: ["trains", "prunes", "rounds", "encodes"],
    reason: "it trains float weights of the shapes that they have then",
  },
  label: (params) => [
    ...(params.student_from === "named" ? ["named student"] : []),
    ...(params.divergence === "forward_kl" ? [] : [params.divergence.replace("_", " ")]),
    ...(params.student_weights === "all" ? [] : [params.student_weights]),
    ...lengthLabel(params),
  ],
  hint: (about) => about === "quality" ? "Take more steps, or text like that of the tasks" : null,
  supports: trainable,
  accepts(params, facts): Support {
    const { top_k, student_from, student_weights, rank } = params;
    const { vocabulary } = facts.model;
    if (top_k > vocabulary) {
      return { ok: false, reason: `top_k is ${top_k}: the teacher has ${vocabulary} tokens` };
    }
    if (student_from === "named" && facts.student === undefined) {
      const reason = "a named student takes the untouched model's place: name one with --student " +
        "and let distill be the first action";
      return { ok: false, reason };
    }
    const trained = studentFacts(params, facts);
    return student_weights === "all" ? trainable(trained) : rankFits(rank, trained);
  },
  auto: ({ model }) => {
    const factors = model.fp16_bytes > ALL_BYTES;
    const why = factors
      ? "all weights with their moments would take too much memory"
      : "it is small";
    return {
      student_weights: { value: factors ? "factors" : "all", reason: why },
      top_k: {
        value: Math.min(64, model.vocabulary),
        reason: "the likeliest 64 tokens, or all that there are",
      },
    };
  },
  // Alone it would learn from the uncompressed model what that model knows: it follows on a cut, or
  // trains a smaller model.
  seed: (boldness, { student }) =>
    boldness === "balanced" && student !== undefined ? { student_from: "named" } : null,
  next: (params, finding) => nextTraining(params, finding, LEAST_LR),
  estimateSeconds(params, facts) {
    const { model: { linear_parameters, embedding_parameters } } = facts;
    const trained = studentFacts(params, facts);
    const weights = trained.model.linear_parameters + trained.model.embedding_parameters;
    const teacher = TEACHER_SHARE * (linear_parameters + embedding_parameters) / weights;
    return (1 + teacher) * trainingSeconds(params, trained);
  },
  // The teacher is in memory first, alone; then the student in float32, what is trained, and a
  // batch's passes.
  estimateMemory(params, facts) {
    const trained = studentFacts(params, facts);
    const { student_weights, rank, batch, tokens } = params;
    const { parameters, vocabulary } = trained.model;
    const weights = student_weights === "all" ? parameters : factorWeights(rank, trained);
    const copies = 4 * batch * tokens * LOGIT_COPIES * vocabulary;
    const student = 4 * parameters + trainingBytes(weights, params, trained) + copies;
    return PROCESS_BYTES + Math.max(4 * facts.model.parameters, student);
  },
});
