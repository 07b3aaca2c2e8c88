/** Files that are small or plain to look at, and made to hang, fill or leave what reads them. */
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import { MLFLOW, OPTUNA } from "./deno_doors.ts";

/** Stands in files that no reader was given: none may repeat it. */
export const SECRET = "HIDDEN";

/** One input that was made, not drawn. */
export interface Attack {
  readonly name: string;
  readonly door: string;
  readonly side: "deno" | "python";
  /** Writes it into an empty folder; what the reader is given. */
  write(folder: string): string;
}

/** Files that are no file: each reader that takes one by its path is given each. */
const NO_FILES: Readonly<Record<string, (path: string) => void>> = {
  "a pipe": (path) => execFileSync("mkfifo", [path]),
  "a link to a device": (path) => symlinkSync("/dev/zero", path),
  "a folder": (path) => mkdirSync(path),
  "three empty gigabytes": (path) => {
    writeFileSync(path, "");
    truncateSync(path, 3e9);
  },
};

const BY_PATH: Readonly<Record<string, string>> = {
  study: "study.json",
  stages: "stages.yaml",
  engines: "engines.yaml",
  rubric: "rubric.yaml",
  labels: "labels.csv",
  rules: "rules.yaml",
  profiles: "profiles.yaml",
  evaluation: "evaluation.yaml",
  scenario: "scenario.toml",
  experiments: "experiments.yaml",
  dataset: "rows.jsonl",
  dataset_gz: "rows.jsonl.gz",
  optuna: "optuna.db",
  mlflow: "mlflow.db",
  server_log: "server.log",
};

/** Of doors that are given a folder: the file in it. */
const IN_FOLDER: Readonly<Record<string, string>> = {
  model_card: "README.md",
  recorded: "recorded.json",
  plan: "config.json",
  lm_eval: "results_2026-11-21T13-01-27.096838.json",
};

const noFiles = Object.entries(NO_FILES).flatMap(([name, make]) => [
  ...Object.entries(BY_PATH).map(([door, file]): Attack => ({
    ...{ name, door, side: "deno" },
    write(folder) {
      make(join(folder, file));
      return join(folder, file);
    },
  })),
  ...Object.entries(IN_FOLDER).map(([door, file]): Attack => ({
    ...{ name, door, side: "deno" },
    write(folder) {
      make(join(folder, file));
      return folder;
    },
  })),
]);

const PYTHON_PATHS: Readonly<Record<string, string>> = {
  ...{ gguf: "model.gguf", gguf_given: "model.gguf", parquet: "rows.parquet" },
  ...{ rows: "rows.jsonl", rows_gz: "rows.jsonl.gz", texts: "texts.jsonl", scores: "scores.json" },
};

export const PYTHON_ATTACKS: readonly Attack[] = Object.entries(NO_FILES).flatMap((
  [name, make],
) =>
  Object.entries(PYTHON_PATHS).map(([door, file]): Attack => ({
    ...{ name, door, side: "python" },
    write(folder) {
      make(join(folder, file));
      return join(folder, file);
    },
  }))
);

/** An attack that is one file of this content. */
function one(name: string, door: string, file: string, content: () => string | Uint8Array): Attack {
  return {
    ...{ name, door, side: "deno" },
    write(folder) {
      writeFileSync(join(folder, file), content());
      return join(folder, file);
    },
  };
}

/** A database of these statements. */
function sql(name: string, door: "optuna" | "mlflow", statements: string): Attack {
  return {
    ...{ name, door, side: "deno" },
    write(folder) {
      const path = join(folder, `${door}.db`);
      using database = new DatabaseSync(path);
      database.exec(statements);
      return path;
    },
  };
}

const ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT";

const BILLION = ["a: &a [x, x, x, x, x, x, x, x, x]", ..."bcdefghi"]
  .map((name, at) =>
    at === 0 ? name : `${name}: &${name} [${`*${"abcdefghi"[at - 1]}, `.repeat(9)}]`
  ).join("\n");

export const ATTACKS: readonly Attack[] = [
  ...noFiles,
  one("600 MB behind 600 kB", "dataset_gz", "rows.jsonl.gz", () => gzipSync(new Uint8Array(6e8))),
  one(
    "100 million lines behind 100 kB",
    "dataset_gz",
    "rows.jsonl.gz",
    () => gzipSync(new Uint8Array(1e8).fill(10)),
  ),
  ...["stages", "engines", "rubric", "rules", "profiles", "evaluation", "experiments"].map((door) =>
    one("a billion words by aliases", door, BY_PATH[door]!, () => BILLION)
  ),
  sql(
    "a view without end in a table's place",
    "optuna",
    `${OPTUNA}
    DROP TABLE trials; CREATE VIEW trials AS ${ENDLESS} i AS trial_id, i AS number, 1 AS study_id,
    'COMPLETE' AS state, NULL AS datetime_start, NULL AS datetime_complete FROM n;`,
  ),
  sql(
    "a version without end",
    "optuna",
    `${OPTUNA}
    DROP TABLE version_info; CREATE VIEW version_info AS ${ENDLESS} 12 AS schema_version,
    '5.0.0' AS library_version FROM n;`,
  ),
  sql(
    "a view without end in a table's place",
    "mlflow",
    `${MLFLOW}
    DROP TABLE metrics; CREATE VIEW metrics AS ${ENDLESS} 'm' AS key, 0.5 AS value, 1 AS timestamp,
    'a' AS run_uuid, i AS step, 0 AS is_nan FROM n;`,
  ),
  sql(
    "a column that computes a gigabyte",
    "mlflow",
    `${MLFLOW}
    DROP TABLE tags; CREATE TABLE tags (key TEXT, run_uuid TEXT,
    value TEXT AS (hex(zeroblob(400000000)))); INSERT INTO tags VALUES ('t', 'a');`,
  ),
  {
    ...{ name: "a task that names a file elsewhere", door: "lm_eval", side: "deno" },
    write(folder) {
      const date = "2026-11-21T13-01-27.096838";
      mkdirSync(join(folder, "inner"));
      writeFileSync(join(folder, `secret_${date}.jsonl`), `${SECRET}\n`);
      const results = { results: { "/../../secret": { "acc,none": 1 }, "a\u0000b": {} } };
      writeFileSync(join(folder, "inner", `results_${date}.json`), JSON.stringify(results));
      return join(folder, "inner");
    },
  },
];
