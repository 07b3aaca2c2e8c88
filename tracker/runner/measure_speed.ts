import type {
  Artifact,
  Measurement,
  Numerics,
  Outcome,
  SampleResult,
  Span,
  Speed,
} from "../../core/mod.ts";
import { failed, type PreparedStudy } from "./live_backend.ts";
import { storageFailure } from "../store/storage_error.ts";
import { scoreInRuntime } from "./score_in_runtime.ts";
import { stageSource } from "./source_closure.ts";
import type { StageRunner } from "./stage_runner.ts";
import type { Workshop } from "./workshop.ts";

export interface SpeedInput {
  readonly workshop: Workshop;
  readonly study: PreparedStudy;
  readonly runner: StageRunner;
  readonly trial_id: string;
  readonly artifact: Artifact;
  readonly baseline: Artifact | null;
  /** The proxy's samples as they were evaluated; empty where they are not known. */
  readonly evaluated: readonly SampleResult[];
}

/** Tokens of the prompt, tokens generated, and pairs of baseline and trial. */
export const PROTOCOL = { prompt_tokens: 128, new_tokens: 48, repeats: 5 };
/** Positions at which the runtime's logits are compared with the dequantized model's. */
const PROOF_TOKENS = 64;

/** The architecture's graph, exported once and kept; null where the runtime needs none. */
async function graphOf(
  input: SpeedInput,
  source: Artifact,
): Promise<Outcome<string | null>> {
  const { workshop, study, runner, trial_id } = input;
  const runtime = workshop.registry.runtime(study.spec.runtime);
  const environment = runtime.needs.export_environment;
  if (environment === null) return { ok: true, value: null, spans: [] };
  const key = [
    source.artifact_id,
    await stageSource("export_graph.py"),
    await workshop.environmentHash(environment),
  ].join("-");
  let failure: Outcome<never> | null = null;
  let spans: Span[] = [];
  try {
    const { directory } = await workshop.caches.cached("graphs", key, async (temporary) => {
      const exported = await runner(trial_id, {
        stage: "export_graph",
        model_dir: source.location,
        output_dir: temporary,
      }, environment);
      spans = exported.spans;
      if (exported.ok) return;
      failure = exported;
      throw new Error(exported.failure.message);
    });
    return { ok: true, value: directory, spans };
  } catch (error) {
    return failure ?? failed(storageFailure(error, "export_graph"), spans);
  }
}

function proofRow(
  metric: string,
  value: number,
  options: { unit: string; direction: "maximize" | "minimize"; n: number },
  runtime: string | null,
  numerics: Numerics | null,
  method: string,
): Measurement {
  return {
    metric,
    value,
    ...options,
    standard_error: null,
    fidelity: "full",
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

/** How near the runtime's logits are to the dequantized model's: the proof of the exchange. */
async function prove(input: SpeedInput, graph: string | null): Promise<Outcome<Measurement[]>> {
  const { study, runner, trial_id, artifact } = input;
  const runtime = study.spec.runtime;
  const proved = await runner(trial_id, {
    stage: "prove_runtime",
    runtime,
    artifact_dir: artifact.location,
    graph_dir: graph,
    tokens: PROOF_TOKENS,
    seed: study.seed,
  }, "default");
  if (!proved.ok) return proved;
  const { strict_kl, default_kl, default_agreement, rounding_kl, tokens, numerics } = proved.value;
  const kl = { unit: "nats/token", direction: "minimize", n: tokens } as const;
  const against = "against the dequantized model in transformers, fp32";
  const evaluated = "against the model as it is evaluated, in transformers";
  return {
    ok: true,
    spans: proved.spans,
    value: [
      proofRow("runtime_strict_kl", strict_kl, kl, runtime, null, `strict f32, ${against}`),
      proofRow("runtime_kl", default_kl, kl, runtime, numerics, evaluated),
      proofRow(
        "runtime_agreement",
        default_agreement,
        { unit: "1", direction: "maximize", n: tokens },
        runtime,
        numerics,
        `same best token, ${evaluated}`,
      ),
      ...(rounding_kl === null ? [] : [
        proofRow(
          "rounding_kl",
          rounding_kl,
          kl,
          null,
          null,
          "the evaluated model against itself with its embeddings a millionth larger: how far " +
            "rounding activations spreads a float's last bits",
        ),
      ]),
    ],
  };
}

/** Runs what is timed with nothing of ours beside it: the store's writer rests. */
async function timed<T>(workshop: Workshop, run: () => Promise<T>): Promise<T> {
  using _quiet = workshop.store.pauseSink();
  return await run();
}

/** Speed, memory and energy in the study's runtime, the baseline measured in turn. */
export async function measureSpeed(input: SpeedInput): Promise<Outcome<Speed>> {
  const { workshop, study, runner, trial_id, artifact, baseline } = input;
  const runtime = workshop.registry.runtime(study.spec.runtime);
  const graph = await graphOf(input, baseline ?? artifact);
  if (!graph.ok) return graph;
  // Before the proof: its worker would have a spare importing beside the timing.
  const measured = await timed(workshop, () =>
    runner(trial_id, {
      stage: "speed",
      runtime: runtime.name,
      artifact_dir: artifact.location,
      baseline_dir: baseline?.location ?? null,
      graph_dir: graph.value,
      ...PROTOCOL,
      seed: study.seed,
    }, runtime.needs.environment));
  if (!measured.ok) return failed(measured.failure, [...graph.spans, ...measured.spans]);
  await workshop.store.record({
    type: "energy_read",
    at: workshop.timestamp(),
    study_id: study.study_id,
    trial_id,
    stage: "speed",
    ...measured.value.energy,
  });
  const proof = runtime.needs.export_environment === null
    ? { ok: true as const, value: [], spans: [] }
    : await prove(input, graph.value);
  if (!proof.ok) {
    return failed(proof.failure, [
      ...graph.spans,
      ...measured.spans,
      ...proof.spans,
    ]);
  }
  // Weights alone are exchanged exactly; what rounds activations too is scored as it runs.
  const scored = artifact.activation_bits === null || graph.value === null
    ? { ok: true as const, value: [], spans: [] }
    : await scoreInRuntime(input, graph.value, input.evaluated);
  const spans = [...graph.spans, ...measured.spans, ...proof.spans, ...scored.spans];
  if (!scored.ok) return failed(scored.failure, spans);
  const { measurements, baseline_measurements, roofline_ms, numerics } = measured.value;
  const roofline = {
    ...proofRow(
      "roofline_ms",
      roofline_ms,
      { unit: "ms/token", direction: "minimize", n: 1 },
      runtime.name,
      numerics,
      `${measured.value.bytes_read_per_token} bytes a token over ` +
        `${measured.value.memory_bandwidth_gb_s.toFixed(1)} GB/s measured in the same run`,
    ),
    provenance: "estimated" as const,
  };
  return {
    ok: true,
    value: {
      measurements: [...measurements, ...proof.value, ...scored.value, roofline],
      baseline_measurements,
    },
    spans,
  };
}
