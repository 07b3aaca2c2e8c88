import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type CallRequest, type Facts, LayerScore } from "../../core/mod.ts";
import { canonicalJson } from "../artifacts/action_key.ts";
import { type CallRunner, refusal } from "../lab/runner/call_runner.ts";
import { packageSource } from "../lab/runner/source_closure.ts";
import type { Tools } from "../lab/runner/workshop.ts";

/** Everything that a score depends on beside code and pins. */
export interface LayersToScore extends
  Pick<
    CallRequest<"sensitivity">,
    "artifact_dir" | "calibration_path" | "formats" | "scorers" | "windows" | "tokens" | "seed"
  > {
  readonly artifact_id: string;
  /** Of the windows of text. */
  readonly calibration_sha256: string;
}

const ENVIRONMENT = "default";
const FILE = "scores.json";
/** The largest group that is taken where nobody names a format; as in most files that are shared. */
const USUAL_GROUP = 64;

/** Formats that are scored where nobody names any: 3, 4 and 8 bits in groups that divide every row. */
export function usualFormats({ model }: Facts): string[] {
  const group = model.group_sizes.filter((size) => size <= USUAL_GROUP).at(-1);
  const ending = group === undefined ? "" : `-g${group}`;
  return [3, 4, 8].map((width) => `${width}-bit${ending}`);
}

/**
 * The scores of a model's layers: from the cache where the same was asked before, else measured, in a
 * folder in which a killed run's layers are found again.
 */
export async function scoreLayers(
  { caches, artifacts, environmentHash }: Pick<Tools, "caches" | "artifacts" | "environmentHash">,
  runner: CallRunner,
  asked: LayersToScore,
): Promise<LayerScore[]> {
  const { artifact_id, calibration_sha256, artifact_dir, calibration_path, ...request } = asked;
  const key = createHash("sha256").update(canonicalJson([
    artifact_id,
    calibration_sha256,
    request,
    await packageSource("quantization", "checkpoint", "models", "calls/sensitivity.py"),
    await environmentHash(ENVIRONMENT),
  ])).digest("hex");
  const { directory } = await caches.cached("sensitivity", key, async (temporary) => {
    const work = await artifacts.workFolder(key);
    let keep = true;
    try {
      const about = { call: "sensitivity", artifact_dir, calibration_path } as const;
      const whole = { ...about, ...request, work_dir: work.directory };
      const outcome = await runner("setup", whole, ENVIRONMENT);
      if (!outcome.ok) throw refusal(outcome.failure);
      await writeFile(join(temporary, FILE), JSON.stringify(outcome.value.layers));
      keep = false;
    } finally {
      await work.release({ keep });
    }
  });
  return z.array(LayerScore).parse(JSON.parse(await readFile(join(directory, FILE), "utf8")));
}
