import { choice, defineMethod, integer, real } from "../../core/mod.ts";
import {
  nextTraining,
  PROCESS_BYTES,
  trainable,
  trainingSeconds,
} from "../finetuning/_training.ts";
import {
  autoWeights,
  LEAST_LR,
  STUDENT_KNOBS,
  STUDENT_NAMED_FOR,
  studentBytes,
  studentFacts,
  studentFits,
  studentLabel,
  studentLeaves,
  studentOrder,
  teacherShare,
} from "./_student.ts";

/** Log-probabilities of a token beside its logits: of all tokens, and with the teacher's left out. */
const LOGIT_COPIES = 2;

/** Knowledge distillation, with the study's uncompressed model as the teacher. */
export default defineMethod({
  name: "distill",
  summary: "Trains the chain's model, cut or thinned, by what the uncompressed one answers",
  knobs_named_for: STUDENT_NAMED_FOR,
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
    ...STUDENT_KNOBS,
  },
  needs: { environment: "default", data: "training", teacher: true, gpu: false },
  leaves: studentLeaves,
  order: studentOrder,
  label: (params) => [
    ...(params.divergence === "forward_kl" ? [] : [params.divergence.replace("_", " ")]),
    ...studentLabel(params),
  ],
  hint: (about) => about === "quality" ? "Take more steps, or text like that of the tasks" : null,
  supports: trainable,
  accepts(params, facts) {
    const { top_k } = params;
    const { vocabulary } = facts.model;
    if (top_k > vocabulary) {
      return { ok: false, reason: `top_k is ${top_k}: the teacher has ${vocabulary} tokens` };
    }
    return studentFits("distill", params, facts);
  },
  auto: (facts) => ({
    student_weights: autoWeights(facts),
    top_k: {
      value: Math.min(64, facts.model.vocabulary),
      reason: "the likeliest 64 tokens, or all that there are",
    },
  }),
  // Alone it would learn from the uncompressed model what that model knows: it follows on a cut, or
  // trains a smaller model.
  seed: (boldness, { student }) =>
    boldness === "balanced" && student !== undefined ? { student_from: "named" } : null,
  next: (params, finding) => nextTraining(params, finding, LEAST_LR),
  estimateSeconds: (params, facts) =>
    (1 + teacherShare(params, facts)) * trainingSeconds(params, studentFacts(params, facts)),
  // The teacher is in memory first, alone; then the student with what is trained and a batch's passes.
  estimateMemory: (params, facts) =>
    PROCESS_BYTES +
    Math.max(4 * facts.model.parameters, studentBytes(params, facts, LOGIT_COPIES)),
});
