import { join } from "node:path";
import {
  CHECKS,
  FULL,
  type Measurement,
  type Numerics,
  type Outcome,
  type Span,
} from "../../../../core/mod.ts";
import { namedRuntime } from "../source_closure.ts";
import { inPrecision, type SpeedInput } from "../speed_input.ts";
import { exactForm, formFailure, type MadeForms } from "./runtime_form.ts";
import { failed } from "../call_runner.ts";

/** Positions at which the runtime's logits are compared with the dequantized model's. */
const PROOF_TOKENS = 64;

/** A figure of a runtime that is no timing. */
export function proofRow(
  metric: keyof typeof CHECKS,
  value: number,
  n: number,
  runtime: string | null,
  numerics: Numerics | null,
  method: string,
): Measurement {
  return {
    metric,
    value,
    unit: CHECKS[metric].unit,
    direction: CHECKS[metric].direction,
    n,
    standard_error: null,
    fidelity: FULL,
    provenance: "measured",
    task: null,
    task_version: null,
    slice: null,
    runtime,
    numerics,
    device: null,
    method,
  };
}

/** The file of the logits that the runtime computes for a text of its own. */
async function ownLogits(
  input: SpeedInput,
  form_dir: string,
  scratch: string,
  spans: Span[],
): Promise<Outcome<string>> {
  const { study, runner, trial_id, artifact, runtime } = input;
  const output_path = join(scratch, "logits.npz");
  const computed = await runner(trial_id, {
    call: "runtime_logits",
    ...namedRuntime(runtime),
    artifact_dir: artifact.location,
    form_dir,
    exact_form_dir: await exactForm(input, form_dir, { scratch, spans }),
    tokens: PROOF_TOKENS,
    seed: study.seed,
    output_path,
    ...inPrecision(input),
  }, runtime.needs.environment);
  spans.push(...computed.spans);
  return computed.ok ? { ok: true, value: output_path, spans: [] } : computed;
}

/**
 * How near the runtime's logits are to the dequantized model's: the proof that it computes with the
 * artifact's own weights. None for a runtime that loads the checkpoint itself.
 */
export async function prove(
  input: SpeedInput,
  { form_dir }: MadeForms,
  scratch: string,
): Promise<Outcome<Measurement[]>> {
  const { runner, trial_id, artifact, runtime: { name: runtime } } = input;
  const spans: Span[] = [];
  if (form_dir === null) return { ok: true, value: [], spans };
  try {
    const logits = await ownLogits(input, form_dir, scratch, spans);
    if (!logits.ok) return failed(logits.failure, spans);
    const proved = await runner(trial_id, {
      call: "prove_runtime",
      runtime,
      artifact_dir: artifact.location,
      logits_path: logits.value,
    }, "default");
    spans.push(...proved.spans);
    if (!proved.ok) return failed(proved.failure, spans);
    return { ok: true, value: proofRows(proved.value, runtime), spans };
  } catch (error) {
    return formFailure(error, "prove_runtime", spans);
  }
}

function proofRows(
  { strict_kl, default_kl, default_agreement, rounding_kl, tokens, numerics }: {
    strict_kl: number;
    default_kl: number;
    default_agreement: number;
    rounding_kl: number | null;
    tokens: number;
    numerics: Numerics;
  },
  runtime: string,
): Measurement[] {
  const against = "against the dequantized model in transformers, fp32";
  const evaluated = "against the model as it is evaluated, in transformers";
  return [
    proofRow("runtime_strict_kl", strict_kl, tokens, runtime, null, `strict f32, ${against}`),
    proofRow("runtime_kl", default_kl, tokens, runtime, numerics, evaluated),
    proofRow(
      "runtime_agreement",
      default_agreement,
      tokens,
      runtime,
      numerics,
      `same best token, ${evaluated}`,
    ),
    ...(rounding_kl === null ? [] : [
      proofRow(
        "rounding_kl",
        rounding_kl,
        tokens,
        null,
        null,
        "the evaluated model against itself with its embeddings a millionth larger: how far " +
          "rounding activations spreads a float's last bits",
      ),
    ]),
  ];
}
