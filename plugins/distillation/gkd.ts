import { defineMethod, integer, real } from "../../core/mod.ts";
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

/** Log-probabilities of both, of their mixture and of its two divergences, beside both logits. */
const LOGIT_COPIES = 10;
/** A token that is written reads every weight once, in float32. */
const BYTES_A_SECOND = 1e10;

/** Generalised knowledge distillation by trl, with the study's uncompressed model as the teacher. */
export default defineMethod({
  name: "gkd",
  summary:
    "Trains the chain's model by what the uncompressed one says of text that it writes itself",
  knobs_named_for: {
    ...STUDENT_NAMED_FOR,
    kd_temperature: "trl's loss has none: distill has, sampling_temperature is of what is written",
    KD_temperature: "trl's loss has none: distill has, sampling_temperature is of what is written",
  },
  knobs: {
    on_policy: real({
      minimum: 0,
      maximum: 1,
      default: 0.5,
      unit: "share of the steps",
      description: "Steps that read what the student goes on to write; the others read the text",
      aliases: ["lmbda"],
    }),
    jsd_beta: real({
      minimum: 0,
      maximum: 1,
      default: 0.5,
      unit: "share of the teacher",
      description: "Of the mixture that both are compared with: 0 is forward KL, 1 is reverse KL",
      aliases: ["beta"],
    }),
    sampling_temperature: real({
      minimum: 0.1,
      maximum: 2,
      default: 0.9,
      unit: "divisor of the logits",
      description: "How freely the student writes",
      aliases: ["temperature"],
    }),
    prefix_tokens: integer({
      minimum: 4,
      maximum: 1024,
      default: 32,
      log: true,
      unit: "tokens",
      description: "The beginning of a window that the student goes on from",
    }),
    max_new_tokens: integer({
      minimum: 4,
      maximum: 1024,
      default: 64,
      log: true,
      unit: "tokens",
      description: "How much the student writes at most, beyond the prompt",
    }),
    ...STUDENT_KNOBS,
  },
  needs: { environment: "default", data: "training", teacher: true, gpu: false },
  leaves: studentLeaves,
  order: studentOrder,
  label: ({ on_policy, ...params }) => [
    `${Math.round(100 * on_policy)}% own text`,
    ...studentLabel(params),
  ],
  hint: (about) => about === "quality" ? "Take more steps, or text like that of the tasks" : null,
  supports: trainable,
  accepts(params, facts) {
    const { on_policy, prefix_tokens, tokens } = params;
    if (on_policy > 0 && prefix_tokens >= tokens) {
      const reason =
        `the student goes on after prefix_tokens: ${prefix_tokens} are not below the ` +
        `${tokens} tokens of a window`;
      return { ok: false, reason };
    }
    return studentFits("gkd", params, facts);
  },
  auto: (facts) => ({ student_weights: autoWeights(facts) }),
  // As of distill; what is written costs time, which nothing has shown to be worth it beforehand.
  seed: () => null,
  next: (params, finding) => nextTraining(params, finding, LEAST_LR),
  estimateSeconds(params, facts) {
    const trained = studentFacts(params, facts);
    const { on_policy, max_new_tokens, steps } = params;
    const written = steps * on_policy * max_new_tokens * 4 * trained.model.parameters;
    return (1 + teacherShare(params, facts)) * trainingSeconds(params, trained) +
      written / BYTES_A_SECOND;
  },
  // Teacher and student at once: what the student writes is new to the teacher.
  estimateMemory: (params, facts) =>
    PROCESS_BYTES + 4 * facts.model.parameters + studentBytes(params, facts, LOGIT_COPIES),
});
