import { evidenceFigures } from "../../show/evidence_figures.ts";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Registry } from "../../../core/mod.ts";
import { makeFolder, syncBelow, syncFolder } from "../../../python-backends/whole_file.ts";
import { checkFolder } from "../../ground/filled_folder.ts";
import { sqlFiles } from "../../show/report_sql/sql_box.ts";
import { lockFiles } from "../reproduce/locks.ts";
import { recordedStudy } from "../../lab/recorded_trial.ts";
import { reproductionFiles } from "../reproduce/write_reproduction.ts";
import { writeOutputs } from "../../show/reports_of_study.ts";
import { listFiles, sha256File } from "../../ground/storage/file_hash.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import { partialOf, putFolder } from "../../ground/storage/whole_folder.ts";
import type { Store } from "../../store/store.ts";
import { viewStudy } from "../../show/view/view_study.ts";
import { openTasks, publishTables } from "../../show/report_sql/publish_tables.ts";
import {
  cleanPage,
  cleanText,
  cleanValue,
  pathsIn,
  type Private,
} from "../../show/report_sql/withheld.ts";

const CRATE = "ro-crate-metadata.json";
const SUMS = "SHA256SUMS";
const LEFT_OUT = "LEFT_OUT.md";

export interface Publishing {
  readonly store: Store;
  readonly study_id: string;
  readonly registry: Registry;
  readonly hidden: Private;
  readonly directory: string;
  readonly force: boolean;
  /** The report's SQL box has its engine and its data; default: it says how to get them. */
  readonly sql?: boolean;
}

/** What was published. */
export interface Published {
  readonly files: number;
  readonly left_out: readonly string[];
}

/** Gathers a study's folder, whole or not at all: what others read, check and run again. */
export async function publishStudy(publishing: Publishing): Promise<Published> {
  const { directory, force } = publishing;
  outsideStores(directory, "publish to");
  checkFolder(directory, "publish to", {
    ...{ force, does: "write the files of an earlier publication again" },
    foreign: (names) =>
      names.includes(SUMS)
        ? null
        : `write into ${directory} as nothing was published there (it has no ${SUMS})`,
  });
  const partial = partialOf(directory);
  mkdirSync(partial, { recursive: true });
  try {
    const left_out = await gather(publishing, partial);
    const lines = left_out.map((one) => `- ${one}`);
    await writeFile(join(partial, LEFT_OUT), `# Left out\n\n${lines.join("\n")}\n`);
    const files = (await listFiles(partial)).sort();
    const sums: string[] = [];
    for (const path of files) sums.push(`${await sha256File(join(partial, path))}  ${path}\n`);
    await writeFile(join(partial, SUMS), sums.join(""));
    await place(partial, directory);
    return { files: files.length + 1, left_out };
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

async function gather(publishing: Publishing, folder: string): Promise<string[]> {
  const { store, study_id, registry, hidden } = publishing;
  const view = await viewStudy(store, study_id);
  const recorded = await recordedStudy(store, study_id);
  const box = publishing.sql ? { sql: await sqlFiles(store, recorded, registry, hidden) } : {};
  const clean = cleanValue(recorded, hidden) as typeof recorded; // of the same shape
  const locks = await lockFiles(recorded, registry);
  const beside = { ...reproductionFiles(clean), ...locks.files };
  await writeOutputs(view, folder, {
    ...box,
    beside,
    evidence: await evidenceFigures(store, view),
  });
  const places = [...view.artifacts.values()].map(({ location }) => location);
  const paths = pathsIn([await store.journalOf(study_id), places, folder]);
  const renewed: [before: string, now: string][] = [];
  for (const path of await listFiles(folder)) {
    if (path === CRATE || !/\.(html|md|svg|json|tex|csv)$/.test(path)) continue;
    const text = await readFile(join(folder, path), "utf8");
    const before = await sha256File(join(folder, path));
    await writeFile(join(folder, path), cleanPage(text, hidden, paths));
    renewed.push([before, await sha256File(join(folder, path))]);
  }
  await renewCrate(join(folder, CRATE), renewed, (text) => cleanPage(text, hidden, paths));
  const { open, closed } = openTasks(recorded, registry);
  const left = await publishTables(store, study_id, join(folder, "data"), { hidden, tasks: open });
  const moved = recorded.request.model_name !== clean.request.model_name
    ? [`the model's place: it is ${cleanText(recorded.request.model_name, hidden)}; give --model`]
    : [];
  return [
    "absolute paths (their last part stays), tokens, host and user names",
    ...closed.map((task) =>
      `answers and solutions of ${task}: its licence is not known to allow it`
    ),
    ...[...moved, ...locks.missing, ...left],
  ];
}

/** The crate names the hashes of the other files: those that were cleaned have new ones. */
async function renewCrate(
  path: string,
  renewed: readonly (readonly [before: string, now: string])[],
  clean: (text: string) => string,
): Promise<void> {
  if (!existsSync(path)) return;
  const text = clean(await readFile(path, "utf8"));
  await writeFile(
    path,
    renewed.reduce((left, [before, now]) => left.replaceAll(before, now), text),
  );
}

/** Puts the folder in its place; over an earlier one only the files of both are touched. */
async function place(partial: string, directory: string): Promise<void> {
  if (!existsSync(directory) || readdirSync(directory).length === 0) {
    mkdirSync(dirname(directory), { recursive: true });
    return await putFolder(partial, directory);
  }
  const before = (await readFile(join(directory, SUMS), "utf8")).split("\n")
    .map((line) => line.slice(66)).filter((path) => path !== "");
  const now = await listFiles(partial);
  await syncBelow(partial);
  // The sums last: with them it is whole, and without them it can be told from that.
  for (const path of [...now.filter((one) => one !== SUMS), SUMS]) {
    const target = join(directory, path);
    makeFolder(dirname(target));
    renameSync(join(partial, path), target);
    syncFolder(dirname(target));
  }
  for (const path of before.filter((path) => !now.includes(path))) {
    if (path.split("/").includes("..") || path.startsWith("/")) continue; // none that we wrote
    rmSync(join(directory, path), { force: true });
  }
}
