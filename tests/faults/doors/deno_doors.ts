/** Doors of TypeScript, each with a valid file. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Door } from "./door.ts";
import { DOCUMENTS, FOLDER_DOCUMENTS } from "./documents.ts";
import { ANSWER, CARD } from "./agent_files.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const textOf = (path: string) => readFileSync(join(ROOT, path), "utf8");

const ROWS = '{"prompt": "Two and two is", "answer": " four"}\n{"prompt": "q", "answer": "a"}\n';

const RESULTS = "results_2026-11-21T13-01-27.096838.json";
const SAMPLES = "samples_sums_b_2026-11-21T13-01-27.096838.jsonl";
const LM_EVAL = "tests/fixtures/lm_eval/org__tiny-a/";

/** Optuna's tables with a trial. */
export const OPTUNA = `
CREATE TABLE version_info (version_info_id INTEGER, schema_version INTEGER, library_version TEXT);
INSERT INTO version_info VALUES (1, 12, '5.0.0');
CREATE TABLE studies (study_id INTEGER, study_name TEXT);
INSERT INTO studies VALUES (1, 's');
CREATE TABLE study_directions (study_direction_id INTEGER, direction TEXT, study_id INTEGER, objective INTEGER);
INSERT INTO study_directions VALUES (1, 'MINIMIZE', 1, 0);
CREATE TABLE study_user_attributes (study_id INTEGER, key TEXT, value_json TEXT);
INSERT INTO study_user_attributes VALUES (1, 'note', '{"a": 1}');
CREATE TABLE study_system_attributes (study_id INTEGER, key TEXT, value_json TEXT);
INSERT INTO study_system_attributes VALUES (1, 'study:metric_names', '["loss"]');
CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER, state TEXT, datetime_start TEXT, datetime_complete TEXT);
INSERT INTO trials VALUES (1, 0, 1, 'COMPLETE', '2026-01-01 00:00:00', '2026-01-01 00:01:00');
CREATE TABLE trial_params (param_id INTEGER, trial_id INTEGER, param_name TEXT, param_value REAL, distribution_json TEXT);
INSERT INTO trial_params VALUES (1, 1, 'bits', 1.0, '{"name": "CategoricalDistribution", "attributes": {"choices": [2, 4]}}');
INSERT INTO trial_params VALUES (2, 1, 'lr', 0.01, '{"name": "FloatDistribution", "attributes": {"step": null, "low": 0.001, "high": 0.1, "log": true}}');
CREATE TABLE trial_values (trial_id INTEGER, objective INTEGER, value REAL, value_type TEXT);
INSERT INTO trial_values VALUES (1, 0, 0.5, 'FINITE');
CREATE TABLE trial_intermediate_values (trial_id INTEGER, step INTEGER, intermediate_value REAL, intermediate_value_type TEXT);
INSERT INTO trial_intermediate_values VALUES (1, 0, 0.7, 'FINITE');
CREATE TABLE trial_user_attributes (trial_id INTEGER, key TEXT, value_json TEXT);
INSERT INTO trial_user_attributes VALUES (1, 'words', '"as they are"');
CREATE TABLE trial_system_attributes (trial_id INTEGER, key TEXT, value_json TEXT);
INSERT INTO trial_system_attributes VALUES (1, 'fixed_params', '{"bits": 2}');`;

/** MLflow's tables with a run. */
export const MLFLOW = `
CREATE TABLE experiments (experiment_id INTEGER, name TEXT, artifact_location TEXT, lifecycle_stage TEXT, creation_time BIGINT);
INSERT INTO experiments VALUES (1, 'e', '', 'active', 1);
CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time BIGINT, end_time BIGINT, lifecycle_stage TEXT, experiment_id INTEGER);
INSERT INTO runs VALUES ('a', 'fine', 'FINISHED', 1, 2, 'active', 1);
CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN);
INSERT INTO metrics VALUES ('loss', 0.5, 1764000000000, 'a', 1, 0);
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
INSERT INTO params VALUES ('bits', '4', 'a');
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
INSERT INTO tags VALUES ('t', 'v', 'a');`;

/** An SQLite file of these statements; small pages, so that damage meets what is in it. */
function database(sql: string): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "pare-doors-"));
  try {
    const path = join(folder, "made.db");
    using made = new DatabaseSync(path);
    made.exec(`PRAGMA page_size = 512; ${sql}`);
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const own = (name: string, files: Door["files"], more: Partial<Door> = {}): Door => ({
  ...{ name, side: "deno", files },
  ...more,
});

const META = (lines: string) => `${lines}lifecycle_stage: active\n`;

export const DENO_DOORS: readonly Door[] = [
  ...Object.entries(DOCUMENTS).map(([name, [file, text]]) => own(name, { [file]: text })),
  ...Object.entries(FOLDER_DOCUMENTS).map(([name, [file, text]]) =>
    own(name, { [file]: text }, { folder: true })
  ),
  own("stages", { "stages.yaml": textOf("plugins/codec/stages.yaml") }),
  own("rubric", { "rubric.yaml": textOf("plugins/evaluation/rubrics/agreement.yaml") }),
  own("rules", { "rules.yaml": textOf("plugins/search/rules.yaml") }),
  own("profiles", { "profiles.yaml": textOf("plugins/search/weight_profiles.yaml") }),
  own("dataset", { "rows.jsonl": ROWS }),
  own("dataset_gz", { "rows.jsonl.gz": gzipSync(ROWS) }),
  own("lm_eval", { [RESULTS]: textOf(LM_EVAL + RESULTS), [SAMPLES]: textOf(LM_EVAL + SAMPLES) }, {
    folder: true,
  }),
  own("lm_eval_samples", {
    [RESULTS]: textOf(LM_EVAL + RESULTS),
    [SAMPLES]: textOf(LM_EVAL + SAMPLES),
  }, {
    folder: true,
    hit: [SAMPLES],
  }),
  own("agent_card", { "card.json": CARD }),
  own("agent_answer", { "answer.json": ANSWER }),
  own("optuna", { "optuna.db": database(OPTUNA) }),
  own("mlflow", { "mlflow.db": database(MLFLOW) }),
  own("mlflow_folder", {
    "1/meta.yaml": META(
      "artifact_location: mlruns/1\nexperiment_id: '1'\nname: e\ncreation_time: 1\n",
    ),
    "1/a/meta.yaml": META("run_id: a\nrun_name: fine\nstatus: 3\nstart_time: 1\nend_time: 2\n"),
    "1/a/metrics/loss": "1764000000000 0.5 0\n1764000000001 nan 1\n",
    "1/a/params/bits": "4",
    "1/a/tags/t": "v",
  }, {
    folder: true,
    hit: ["1/meta.yaml", "1/a/meta.yaml", "1/a/metrics/loss", "1/a/params/bits"],
  }),
];
