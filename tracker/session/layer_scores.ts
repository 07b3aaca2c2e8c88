import { basename, resolve } from "node:path";
import { UsageError } from "../../core/mod.ts";
import { runnerBeside, type Watched } from "./prepared_text.ts";
import type { LayerSensitivity } from "./study_sensitivity.ts";
import type { SessionInput } from "./start_study.ts";
import { requireFile } from "../ground/storage/plain_file.ts";
import { refusal } from "../lab/runner/call_runner.ts";

const ENVIRONMENT = "default";

/**
 * What another program says that formats cost the layers of the study's original, from its files:
 * AutoRound's AutoScheme (JSON), Model-Optimizer's auto_quantize (its state). A row keeps whose it
 * is (`program`); a file that is imported again replaces its rows.
 */
export async function importScores(
  session: SessionInput,
  files: readonly string[],
  options: Watched = {},
): Promise<LayerSensitivity[]> {
  const { tools, study_id, request, baseline } = session;
  if (files.length === 0) throw new UsageError("Cannot import layer scores: name a file");
  await using inUse = await session.store.use();
  const { store } = inUse;
  const runner = runnerBeside(session, store, options);
  const read = [];
  for (const file of files) {
    const path = resolve(file);
    requireFile(path);
    const request = { call: "read_scores", artifact_dir: baseline.location, path } as const;
    const outcome = await runner("setup", request, ENVIRONMENT);
    if (!outcome.ok) throw refusal(outcome.failure);
    read.push({ file: basename(path), ...outcome.value });
  }
  const own = { study_id, artifact_id: baseline.artifact_id, seed: null };
  for (const { file, program, sha256, layers } of read) {
    await store.record({
      ...{ type: "layers_scored", at: tools.timestamp(), ...own, calibration_sha256: null },
      ...{ imported: { program, path: file, sha256 }, layers },
    });
  }
  const { model_name } = request;
  return read.flatMap(({ program, layers }) =>
    layers.map((row) => ({ ...own, model_name, program, ...row }))
  );
}
