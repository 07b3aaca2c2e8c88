import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Artifact, Facts } from "../core/mod.ts";
import type { BackendClient } from "../python-backends/client.ts";
import type { ArtifactStore } from "../tracker/artifacts/artifact_store.ts";
import { temporaryFolder } from "./temporary_folder.ts";

const MODELS = new URL("../python-backends/pare_backends/models/", import.meta.url);
const DATA = new URL("../plugins/evaluation/data/", import.meta.url);
export const WINDOWS = 16;
export const WINDOW_TOKENS = 64;

/** The tiny model with its facts and calibration windows: what a method needs to run for real. */
export interface TinyWorld {
  readonly client: BackendClient;
  readonly facts: Facts;
  readonly model_dir: string;
  readonly calibration_path: string;
  /** For what a test writes. */
  readonly folder: string;
}

/** Shared by all tests of these sources, so that it is trained once; Python's tests use it too. */
export function tinyModelFolder(): string {
  const hash = createHash("sha256");
  for (const file of ["tiny.py", "tiny_text.py"]) hash.update(readFileSync(new URL(file, MODELS)));
  return join(tmpdir(), `pare-tiny-${hash.digest("hex").slice(0, 12)}`);
}

/** The tiny model's directory; trained where that was not done yet. */
export async function trainedTinyModel(client: BackendClient): Promise<string> {
  const model_dir = tinyModelFolder();
  if (existsSync(join(model_dir, "config.json"))) return model_dir;
  const fresh = mkdtempSync(join(tmpdir(), "pare-tiny-fresh-"));
  await importModel(client, "tiny", fresh);
  try {
    renameSync(fresh, model_dir);
  } catch (error) {
    // Another test process was first: its model is the same.
    if (!existsSync(join(model_dir, "config.json"))) throw error;
    rmSync(fresh, { recursive: true });
  }
  return model_dir;
}

/** The trained tiny model as a study's parent of all artifacts. */
export async function adoptTinyModel(
  artifacts: ArtifactStore,
  client: BackendClient,
): Promise<Artifact> {
  return await artifacts.adopt(await trainedTinyModel(client), {
    action_key: "a".repeat(64),
    parent_id: null,
    action: null,
    formula_bytes: null,
    weight_bits: null,
    activation_bits: null,
    verification: null,
    created_at: new Date().toISOString(),
  });
}

/** The trained tiny model with its facts and calibration windows. */
export async function tinyWorld(client: BackendClient): Promise<TinyWorld> {
  const folder = temporaryFolder("tiny-world");
  const model_dir = await trainedTinyModel(client);
  const model = await importModel(client, model_dir, join(folder, "unused"));
  const disk = { call: "inspect_device", disk_path: folder } as const;
  const device = must(await client.run(disk, { environment: "default" }));
  const prepared = must(
    await client.run({
      call: "prepare_data",
      model_dir,
      tasks: [],
      calibration_path: fileURLToPath(new URL("tiny_text.jsonl", DATA)),
      calibration_windows: WINDOWS,
      calibration_tokens: WINDOW_TOKENS,
      output_dir: folder,
      seed: 1,
      sample_seed: 1,
      sample_seeds: {},
    }, { environment: "default" }),
  );
  const dataset = {
    dataset: "tiny",
    kind: "named",
    path: null,
    format: null,
    rows: null,
    sha256: null,
  } as const;
  const { calibration_path } = prepared;
  return { client, facts: { model, device, dataset }, model_dir, calibration_path, folder };
}

async function importModel(client: BackendClient, model_name: string, output_dir: string) {
  const request = { call: "import_model", model_name, output_dir, trust_remote_code: false };
  return must(
    await client.run(request as typeof request & { call: "import_model" }, {
      environment: "default",
    }),
  );
}

type Answer<T> = { ok: true; value: T } | { ok: false; failure: { kind: string; message: string } };

/** The value of an outcome, or a throw with the failure's own words. */
export function must<T>(outcome: Answer<T>): T {
  if (outcome.ok) return outcome.value;
  throw new Error(`${outcome.failure.kind}: ${outcome.failure.message}`);
}
