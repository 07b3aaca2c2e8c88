import { replayStudy, type Scorer, type StudyEvent, UsageError } from "../../core/mod.ts";
import type { LayerScore } from "../../core/mod.ts";
import { keepLogIn } from "../runner/keep_log.ts";
import { prepareStudy } from "../runner/prepare_study.ts";
import { createStageRunner } from "../runner/stage_runner.ts";
import { usedData } from "../runner/study_windows.ts";
import type { SessionInput } from "../start_study.ts";
import { scoreLayers, usualFormats } from "./score_layers.ts";

/** What `study.sensitivity()` may be told. */
export interface SensitivityOptions {
  /** Such as 4-bit-g64, 3-bit-g32-asym, 8-bit (a scale a row) or int8-g64; default: 3, 4 and 8 bits. */
  readonly formats?: readonly string[];
  /** Default: all three. */
  readonly scorers?: readonly Scorer[];
  /** Windows of the study's calibration text; default 2. */
  readonly windows?: number;
  /** Of each window; default 128. KL runs so many tokens for every layer and format. */
  readonly tokens?: number;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: StudyEvent) => void;
}

/** A row of `layer_sensitivity`, as it is measured. */
export interface LayerSensitivity extends LayerScore {
  readonly study_id: string;
  readonly model_name: string;
  readonly artifact_id: string;
  readonly seed: number;
}

const WINDOWS = 2;
const TOKENS = 128;

/**
 * What each format would cost each layer of the study's original, the layer alone in it: a row a
 * layer, format and scorer, kept in the store (SQL: layer_sensitivity). Asked again, it is not
 * measured again.
 */
export async function studySensitivity(
  session: SessionInput,
  options: SensitivityOptions = {},
): Promise<LayerSensitivity[]> {
  const { tools, study_id, request, facts, spec, baseline } = session;
  if (request.evaluation !== undefined) {
    throw new UsageError(`Cannot score the layers of ${study_id} as it only evaluates`);
  }
  await using inUse = await session.store.use();
  const { store } = inUse;
  const onEvent = options.onEvent ?? (() => {});
  const runner = createStageRunner({
    client: tools.client,
    study_id,
    signal: options.signal ?? new AbortController().signal,
    onEvent,
    record: (record) => store.record(record),
    keepLog: keepLogIn(store, study_id),
    timestamp: tools.timestamp,
    stall_minutes: request.stall_minutes,
  });
  const begun = replayStudy(await store.journalOf(study_id), study_id)?.opened ?? null;
  const { methods: _all, ...rest } = request; // text is drawn whichever methods the study may use
  const ready = await prepareStudy({ ...tools, store }, runner, {
    study_id,
    request: rest,
    spec: begun?.spec ?? spec,
    facts,
    begun: begun?.facts ?? null,
  });
  const windows = Math.min(options.windows ?? WINDOWS, ready.counts.calibration.windows);
  const tokens = Math.min(options.tokens ?? TOKENS, ready.counts.calibration.tokens);
  const data = usedData(ready.windows, { kind: "calibration", windows, tokens });
  if (data === null) throw new UsageError(`Cannot score the layers of ${study_id} without text`);
  const layers = await scoreLayers(tools, runner, {
    artifact_id: baseline.artifact_id,
    artifact_dir: baseline.location,
    calibration_path: data.path,
    calibration_sha256: data.used.sha256,
    formats: [...options.formats ?? usualFormats(facts)],
    scorers: [...options.scorers ?? ["kl", "fisher", "reconstruction"] as const],
    windows,
    tokens,
    seed: ready.seed,
  });
  const own = { study_id, artifact_id: baseline.artifact_id, seed: ready.seed };
  await store.record({
    type: "layers_scored",
    at: tools.timestamp(),
    ...own,
    calibration_sha256: data.used.sha256,
    layers,
  });
  return layers.map((row) => ({ ...own, model_name: request.model_name, ...row }));
}
