import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { unknownName, UsageError } from "../../../../core/mod.ts";
import { readText } from "../../../ground/storage/plain_file.ts";
import { parseYaml } from "../../../ground/storage/read_yaml.ts";
import { LARGEST_FILE } from "../../../lab/data/parse_json.ts";
import { wholeNumber } from "../../imports/foreign_values.ts";
import type { Foreign, ForeignRun } from "../../imports/import_runs.ts";
import { type ForeignExperiment, foreignRun, type History, orLeftOut } from "./import_run.ts";

/** Bytes of a `meta.yaml`, which has ten lines. */
const LONGEST_META = 200_000;

/** A folder's `meta.yaml`; ids that are all digits may be read as numbers. */
const Id = z.union([z.string(), z.int()]).transform(String);
const ExperimentMeta = z.object({
  experiment_id: Id,
  name: Id,
  artifact_location: z.string().default(""),
  creation_time: z.int().nullish(),
  lifecycle_stage: z.string().default("active"),
});
const RunMeta = z.object({
  run_id: Id.optional(),
  run_uuid: Id.optional().describe("as versions before 1.0 say it"),
  run_name: z.string().nullish(),
  name: z.string().nullish(),
  status: z.union([z.int(), z.string()]),
  start_time: z.int().nullish(),
  end_time: z.int().nullish(),
  lifecycle_stage: z.string().default("active"),
});

/** The numbers under which the file store writes a status. */
const STATUS: Readonly<Record<string, string>> = {
  1: "RUNNING",
  2: "SCHEDULED",
  3: "FINISHED",
  4: "FAILED",
  5: "KILLED",
};

/** Names of the plain folders or files in a folder, sorted; links are not followed. */
function entries(folder: string, kind: "folder" | "file"): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => kind === "folder" ? entry.isDirectory() : entry.isFile())
      .map((entry) => entry.name).sort();
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw error;
  }
}

/** Files below a folder by their path, which is the key: keys may hold slashes. */
function keyed(folder: string, prefix = ""): { key: string; text: string }[] {
  return [
    ...entries(folder, "file").map((name) => ({
      key: prefix + name,
      text: readText(join(folder, name), LARGEST_FILE),
    })),
    ...entries(folder, "folder").flatMap((name) => keyed(join(folder, name), `${prefix}${name}/`)),
  ];
}

function readMeta<T>(folder: string, schema: z.ZodType<T>): T | null {
  const path = join(folder, "meta.yaml");
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return null;
  let document: unknown;
  try {
    document = parseYaml(readText(path, LONGEST_META));
  } catch (error) {
    throw new UsageError(`Cannot read ${path} as YAML: ${(error as Error).message}`);
  }
  const checked = schema.safeParse(document);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  throw new UsageError(
    `Cannot read ${path}: ${issue?.path.join(".")} is wrong: ${issue?.message}`,
  );
}

/** Python's words for the numbers that are none. */
function pythonNumber(text: string): number {
  const word = /^([+-]?)(nan|inf|infinity)$/i.exec(text);
  if (word === null) return text === "" ? NaN : Number(text);
  if (word[2]!.toLowerCase() === "nan") return NaN;
  return word[1] === "-" ? -Infinity : Infinity;
}

/** A metric's file: `timestamp value [step]` a line. */
function historyOf(path: string, { key, text }: { key: string; text: string }): History {
  const points = text.split("\n").filter((line) => line.trim() !== "").map((line, i) => {
    const [time = "", value = "", step = "0"] = line.trim().split(/\s+/);
    const point = { timestamp: Number(time), value: pythonNumber(value), step: wholeNumber(step) };
    const wrong = !Number.isFinite(point.timestamp) || !/^-?\d+$/.test(step) ||
      Number.isNaN(point.value) && !/^[+-]?nan$/i.test(value);
    if (!wrong) return point;
    throw new UsageError(
      `Cannot read line ${i + 1} of ${join(path, key)}: it must be "timestamp value step"; it is ` +
        `"${line.slice(0, 80)}"`,
    );
  });
  return { metric: key, points };
}

function readRun(experiment: ForeignExperiment, folder: string, name: string): ForeignRun | null {
  const meta = readMeta(folder, RunMeta);
  if (meta === null || meta.lifecycle_stage !== "active") return null;
  const metrics = join(folder, "metrics");
  const pairs = (part: string) =>
    keyed(join(folder, part)).map(({ key, text }) => ({ key, value: text }));
  return foreignRun(experiment, {
    run_id: meta.run_id ?? meta.run_uuid ?? name,
    name: meta.run_name ?? meta.name ?? "",
    status: STATUS[String(meta.status)] ?? String(meta.status),
    start_time: meta.start_time ?? null,
    end_time: meta.end_time ?? null,
    params: pairs("params"),
    tags: pairs("tags"),
    histories: keyed(metrics).map((file) => historyOf(metrics, file)),
  });
}

/** Runs of a legacy `mlruns` folder that are not deleted; nothing is written there. */
export function* folderRuns(
  root: string,
  experiment_name: string | undefined,
): Generator<Foreign> {
  const found = entries(root, "folder").filter((name) => !name.startsWith(".")).flatMap((name) => {
    const meta = readMeta(join(root, name), ExperimentMeta.partial({ experiment_id: true }));
    if (meta === null || meta.lifecycle_stage !== "active") return [];
    const { experiment_id = name, creation_time = null, ...rest } = meta;
    return [{ folder: join(root, name), meta: { ...rest, experiment_id, creation_time } }];
  });
  if (found.length === 0) {
    throw new UsageError(
      `Cannot import ${root}: no folder in it has a meta.yaml; name the mlruns folder itself`,
    );
  }
  const chosen = found.filter(({ meta }) =>
    experiment_name === undefined || meta.name === experiment_name
  );
  if (chosen.length === 0) {
    const names = found.map(({ meta }) => meta.name);
    throw new UsageError(unknownName("experiment", experiment_name ?? "", names));
  }
  for (const { folder, meta } of chosen) {
    for (const name of entries(folder, "folder")) {
      const read = () => readRun(meta, join(folder, name), name);
      const run = orLeftOut(join(folder, name), read);
      if (run !== null) yield run;
    }
  }
}
