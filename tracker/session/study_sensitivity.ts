import {
  kindOf,
  type LayerScore,
  type LayerScorer,
  type StudyEvent,
  UsageError,
} from "../../core/mod.ts";
import { usedData } from "../lab/runner/study_windows.ts";
import type { SessionInput } from "./start_study.ts";
import { preparedText } from "./prepared_text.ts";
import { scoreLayers, usualFormats } from "./score_layers.ts";

/** What `study.sensitivity()` may be told. */
export interface SensitivityOptions {
  /** Such as 4-bit-g64, 3-bit-g32-asym, 8-bit (a scale a row) or int8-g64; default: 3, 4 and 8 bits. */
  readonly formats?: readonly string[];
  /** Default: all three. */
  readonly scorers?: readonly LayerScorer[];
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
  /** Null: the scores are another program's. */
  readonly seed: number | null;
  /** pare, or the program that the scores were imported from. */
  readonly program: string;
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
  const { tools, study_id, request, facts, baseline } = session;
  const { needs, does } = kindOf(request);
  if (!needs.methods) throw new UsageError(`Cannot score the layers of ${study_id} as it ${does}`);
  await using inUse = await session.store.use();
  const { store } = inUse;
  const { runner, ready } = await preparedText(session, store, options);
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
  const { model_name } = request;
  return layers.map((row) => ({ ...own, model_name, program: "pare", ...row }));
}
