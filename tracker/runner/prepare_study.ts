import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  chooseSamples,
  type Facts,
  type ModelFacts,
  type SamplePool,
  type Spec,
  type StageResult,
  StageResults,
  type StudyRequest,
  UsageError,
  type WireTask,
} from "../../core/mod.ts";
import { PROJECT_ROOT } from "../home.ts";
import type { PreparedStudy } from "./live_backend.ts";
import { packageSource } from "./source_closure.ts";
import type { StageRunner } from "./stage_runner.ts";
import { wireTasks } from "./wire_tasks.ts";
import type { Workshop } from "./workshop.ts";

/** Calibration windows written; a method takes as many of them as its knobs say. */
export const CALIBRATION = { windows: 32, tokens: 256 };

/** Characters of an answer that are stored where nobody says: GSM8K's 256 tokens are 1,000. */
const ANSWER_CHARS = 4000;

/** The tiny model knows the words of its own language only. */
const TINY_TEXT = join(PROJECT_ROOT, "plugins", "evaluation", "data", "tiny_text.jsonl");

/** Calibration text of the data directory, where it ships one; null: pare's own text. */
function calibrationText(request: StudyRequest, model: ModelFacts): string | null {
  if (model.source === "tiny") return TINY_TEXT;
  if (request.data_dir === undefined) return null;
  const path = resolve(request.data_dir, "wikitext2", "validation_calib.jsonl.gz");
  return existsSync(path) ? path : null;
}

function keyOf(parts: unknown): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

async function dataStamp(tasks: readonly WireTask[]): Promise<string[]> {
  return await Promise.all(
    tasks.map(async ({ data_path }) =>
      data_path === null
        ? "hub"
        : createHash("sha256").update(await readFile(data_path)).digest("hex")
    ),
  );
}

/** Chooses samples; their order and the calibration windows are made once for the same inputs. */
export async function prepareStudy(
  workshop: Workshop,
  runner: StageRunner,
  study: { study_id: string; request: StudyRequest; spec: Spec; facts: Facts },
): Promise<PreparedStudy> {
  const { request, spec, facts: { model, device } } = study;
  const tasks = wireTasks(spec, workshop.registry.tasks, request);
  const calibration_path = calibrationText(request, model);
  const sample_seed = request.sampling?.seed ?? request.seed;
  const key = keyOf([
    model.path,
    tasks,
    await dataStamp(tasks),
    calibration_path,
    CALIBRATION,
    request.seed,
    sample_seed,
    await packageSource("evaluation", "text", "prepare_data.py"),
  ]);
  const { directory: folder } = await workshop.caches.cached("data", key, async (temporary) => {
    const prepared = await runner("setup", {
      stage: "prepare_data",
      model_dir: model.path,
      tasks,
      calibration_path,
      calibration_windows: CALIBRATION.windows,
      calibration_tokens: Math.min(CALIBRATION.tokens, model.context_length),
      output_dir: temporary,
      seed: request.seed,
      sample_seed,
    }, "default");
    if (!prepared.ok) {
      const { message, hint } = prepared.failure;
      throw new UsageError(hint === null ? message : `${message}. ${hint}`);
    }
    const inside = { ...prepared.value, calibration_path: relativeTo(temporary, prepared.value) };
    await writeFile(join(temporary, "prepared.json"), JSON.stringify(inside));
  });
  const prepared = StageResults.prepare_data.parse(
    JSON.parse(await readFile(join(folder, "prepared.json"), "utf8")),
  );
  const chosen = chooseSamples(poolsOf(spec, prepared), request.sampling);
  return {
    study_id: study.study_id,
    spec,
    tasks,
    proxy: chosen.map(({ task, proxy }) => ({ task, rows: proxy })),
    full: chosen.map(({ task, full }) => ({ task, rows: full })),
    calibration_path: join(folder, prepared.calibration_path),
    calibration_sha256: prepared.calibration_sha256,
    seed: request.seed,
    cpu_power: device.cpu_power ?? null,
    carbon_intensity: device.carbon_intensity ?? null,
    answer_chars: request.answer_chars ?? ANSWER_CHARS,
    allow_unsafe_code: request.allow_unsafe_code,
  };
}

/** What the samples are chosen from, in the spec's order. */
function poolsOf(spec: Spec, prepared: StageResult<"prepare_data">): SamplePool[] {
  return spec.tasks.map(({ task, proxy_samples: proxy, full_samples: full }) => {
    const read = prepared.tasks.find((one) => one.task === task);
    if (read === undefined) {
      throw new UsageError(`Cannot choose samples of ${task}: none were read`);
    }
    return { task, order: read.order, groups: read.groups, proxy, full };
  });
}

/** The folder is renamed when it is whole, so paths in it are kept relative. */
function relativeTo(folder: string, prepared: StageResult<"prepare_data">): string {
  const { calibration_path } = prepared;
  return calibration_path.startsWith(`${folder}/`)
    ? calibration_path.slice(folder.length + 1)
    : calibration_path;
}
