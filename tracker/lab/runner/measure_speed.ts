import type { Measurement, Outcome, Speed } from "../../../core/mod.ts";
import { artifactPlace, environmentOf } from "./artifact_place.ts";
import { proofRow, prove } from "./forms/prove_form.ts";
import { type MadeForms, makeForms } from "./forms/runtime_form.ts";
import { computesOtherwise, scoreInRuntime } from "./forms/score_in_runtime.ts";
import { namedRuntime } from "./source_closure.ts";
import { inItsTurn } from "./machine/in_its_turn.ts";
import { inPrecision, type SpeedInput } from "./speed_input.ts";
import { failed } from "./call_runner.ts";

/**
 * Tokens of the prompt, tokens generated, and pairs of baseline and trial: 8, 16 or 32, until the 95 %
 * interval of their ratio is as narrow as ±2 %. Many short pairs say more than few long ones.
 */
export const PROTOCOL = {
  prompt_tokens: 128,
  new_tokens: 32,
  least_passes: 8,
  most_passes: 32,
  half_width: 0.02,
};

/** Speed, memory and energy in a runtime, the baseline measured in turn. */
export async function measureSpeed(input: SpeedInput): Promise<Outcome<Speed>> {
  await using scratch = await input.workshop.caches.scratch();
  const place = await artifactPlace(input.workshop.artifacts, input.artifact, "speed");
  if (!place.ok) return place;
  const forms = await makeForms(input, scratch.directory);
  if (!forms.ok) return forms;
  const { weights_dir } = place.value;
  const measured = await measureForms(input, forms.value, weights_dir, scratch.directory);
  return { ...measured, spans: [...forms.spans, ...measured.spans] };
}

async function measureForms(
  input: SpeedInput,
  forms: MadeForms,
  weights_dir: string | undefined,
  scratch: string,
): Promise<Outcome<Speed>> {
  const { workshop, study, runner, trial_id, artifact, baseline, runtime } = input;
  const environment = environmentOf(workshop.registry, artifact);
  // Before the proof: its worker would have a spare importing beside the timing.
  const measured = await inItsTurn(input.alone, () => workshop.store.pauseSink(), (turn) =>
    runner(
      trial_id,
      {
        call: "speed",
        ...namedRuntime(runtime),
        artifact_dir: artifact.location,
        baseline_dir: baseline?.location ?? null,
        ...forms,
        ...PROTOCOL,
        seed: study.seed,
        cpu_power: study.cpu_power,
        carbon_intensity: study.carbon_intensity,
        ...study.options.speed,
        ...inPrecision(input),
        ...(weights_dir === undefined ? {} : { weights_dir }),
      },
      weights_dir === undefined ? runtime.needs.environment : environment,
      { turn },
    ));
  if (!measured.ok) return measured;
  await workshop.store.record({
    type: "energy_read",
    at: workshop.timestamp(),
    study_id: study.study_id,
    trial_id,
    call: "speed",
    ...measured.value.energy,
  });
  const proof = await prove(input, forms, scratch);
  if (!proof.ok) return failed(proof.failure, [...measured.spans, ...proof.spans]);
  const scored = forms.form_dir === null ||
      !computesOtherwise(artifact, measured.value.numerics)
    ? { ok: true as const, value: [], spans: [] }
    : await scoreInRuntime(input, forms.form_dir, input.evaluated);
  const spans = [...measured.spans, ...proof.spans, ...scored.spans];
  if (!scored.ok) return failed(scored.failure, spans);
  const { roofline_ms, numerics, threads } = measured.value;
  const withThreads = (row: Measurement): Measurement => ({
    ...row,
    numerics: row.numerics && { ...row.numerics, threads },
  });
  const roofline = {
    ...proofRow(
      "roofline_ms",
      roofline_ms,
      1,
      runtime.name,
      numerics,
      `${measured.value.bytes_read_per_token} bytes per token over ` +
        `${measured.value.memory_bandwidth_gb_s.toFixed(1)} GB/s measured in the same run`,
    ),
    provenance: "estimated" as const,
  };
  return {
    ok: true,
    value: {
      measurements: [
        ...measured.value.measurements.map(withThreads),
        ...[...proof.value, ...scored.value, roofline],
      ],
      baseline_measurements: measured.value.baseline_measurements.map(withThreads),
    },
    spans,
  };
}
