import type {
  Artifact,
  Failure,
  Outcome,
  Span,
  StageRequest,
  StageResult,
} from "../../core/mod.ts";
import { storageFailure } from "../storage/storage_error.ts";
import { graphKey } from "./graph_key.ts";
import type { SpeedInput } from "./speed_input.ts";
import { stageSource } from "./source_closure.ts";
import { failed } from "./stage_runner.ts";

/** What the runtime is given in the place of an artifact and its baseline, each with its graph. */
export interface RuntimeForm {
  readonly artifact_dir: string;
  readonly baseline_dir: string | null;
  readonly graph_dir: string | null;
  readonly baseline_graph_dir: string | null;
}

const NO_GRAPHS = { graph_dir: null, baseline_graph_dir: null };

type Making = Extract<StageRequest, { stage: "export_graph" | "write_gguf" }>;

/** Runs a stage that fills a directory; a failure of its own goes on under its own name. */
async function fill<R extends Making>(
  input: SpeedInput,
  request: R,
  environment: string,
  spans: Span[],
): Promise<StageResult<R["stage"]>> {
  const made = await input.runner(input.trial_id, request, environment);
  spans.push(...made.spans);
  if (made.ok) return made.value;
  throw new StageFailed(made.failure);
}

/** A stage's failure on its way through the cache, which keeps nothing of what failed. */
class StageFailed extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** The outcome of an error that a form's making threw: the stage's own, or the disk's. */
export function formFailure(error: unknown, stage: string, spans: readonly Span[]) {
  return failed(error instanceof StageFailed ? error.failure : storageFailure(error, stage), spans);
}

/** The graph of a model's architecture, exported once and kept. */
async function graphOf(
  input: SpeedInput,
  { location }: Artifact,
  environment: string,
  spans: Span[],
): Promise<string> {
  const { caches, environmentHash } = input.workshop;
  const key = await graphKey(location, await environmentHash(environment));
  const { directory } = await caches.cached("graphs", key, async (output_dir) => {
    const request = { stage: "export_graph", model_dir: location, output_dir } as const;
    await fill(input, request, environment, spans);
  });
  return directory;
}

/** Both graphs: one and the same where the artifact has its baseline's architecture. */
async function graphsOf(input: SpeedInput, environment: string, spans: Span[]) {
  const { artifact, baseline } = input;
  const of = (model: Artifact) => graphOf(input, model, environment, spans);
  return {
    baseline_graph_dir: baseline === null ? null : await of(baseline),
    graph_dir: await of(artifact),
  };
}

/** An artifact's GGUF file in an empty directory. */
export async function writeGguf(
  input: SpeedInput,
  artifact: Artifact,
  { output_dir, exact, spans }: { output_dir: string; exact: boolean; spans: Span[] },
): Promise<void> {
  const artifact_dir = artifact.location;
  await fill(input, { stage: "write_gguf", artifact_dir, output_dir, exact }, "default", spans);
}

/** The baseline's GGUF file is kept for the trials to come; a trial's lies in `scratch`. */
async function ggufsOf(input: SpeedInput, scratch: string, spans: Span[]): Promise<RuntimeForm> {
  const { workshop, artifact, baseline } = input;
  const source = baseline ?? artifact;
  const key = `${source.artifact_id}-${await stageSource("write_gguf.py")}`;
  const kept = await workshop.caches.cached(
    "gguf",
    key,
    (output_dir) => writeGguf(input, source, { output_dir, exact: false, spans }),
  );
  if (baseline === null) {
    return { artifact_dir: kept.directory, baseline_dir: null, ...NO_GRAPHS };
  }
  await writeGguf(input, artifact, { output_dir: scratch, exact: false, spans });
  return { artifact_dir: scratch, baseline_dir: kept.directory, ...NO_GRAPHS };
}

/** Makes what the study's runtime loads. `scratch`: an empty directory that lives as long. */
export async function makeForm(
  input: SpeedInput,
  scratch: string,
): Promise<Outcome<RuntimeForm>> {
  const { loads, needs } = input.workshop.registry.runtime(input.study.spec.runtime);
  const own = {
    artifact_dir: input.artifact.location,
    baseline_dir: input.baseline?.location ?? null,
    ...NO_GRAPHS,
  };
  const spans: Span[] = [];
  try {
    if (loads === "gguf") {
      return { ok: true, value: await ggufsOf(input, scratch, spans), spans };
    }
    if (loads === "graph" && needs.export_environment !== null) {
      const graphs = await graphsOf(input, needs.export_environment, spans);
      return { ok: true, value: { ...own, ...graphs }, spans };
    }
    return { ok: true, value: own, spans };
  } catch (error) {
    return formFailure(error, loads === "gguf" ? "write_gguf" : "export_graph", spans);
  }
}
