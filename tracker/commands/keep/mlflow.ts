import { statSync } from "node:fs";
import { resolve } from "node:path";
import { unknownName, UsageError } from "../../../core/mod.ts";
import { findHome } from "../../ground/home.ts";
import { type Foreign, importRuns } from "../../exchange/imports/import_runs.ts";
import { createMlflowClient } from "../../exchange/mlflow/client/client.ts";
import { connectionOf } from "../../exchange/mlflow/client/connection.ts";
import { MlflowError } from "../../exchange/mlflow/client/http.ts";
import { databaseRuns } from "../../exchange/mlflow/imports/import_database.ts";
import { folderRuns } from "../../exchange/mlflow/imports/import_folder.ts";
import { serverRuns } from "../../exchange/mlflow/imports/import_server.ts";
import { mirrorOptions } from "../../exchange/mlflow/lab_mirror.ts";
import { lockMirror, mirroredElsewhere } from "../../exchange/mlflow/lock_mirror.ts";
import type { FileLock } from "../../../python-backends/file_lock.ts";
import { openMirror } from "../../exchange/mlflow/mirror.ts";
import { ownStudies, studyEnd } from "../../store/shelf/study_reader.ts";
import { requireFile } from "../../ground/storage/plain_file.ts";
import { newFolders } from "../../lab/new_folders.ts";
import { openStore } from "../../store/store.ts";
import { storePaths } from "../../store/store_paths.ts";
import { sayImported } from "../exchange/import.ts";

/** Locks those that nobody else mirrors now; says which are left out. */
function lockedStudies(root: string, wanted: readonly string[]): Map<string, FileLock> {
  const locked = new Map<string, FileLock>();
  for (const id of wanted) {
    const lock = lockMirror(root, id);
    if (lock !== null) locked.set(id, lock);
    else if (wanted.length > 1) console.error(`left out: ${mirroredElsewhere(root, id)}`);
    else throw new UsageError(`Cannot mirror: ${mirroredElsewhere(root, id)}`);
  }
  return locked;
}

/** `pare mlflow sync`: mirrors what was recorded earlier, or while the server was away. */
export async function syncCommand(
  study: string | undefined,
  options: { store?: string; mlflow?: string },
): Promise<void> {
  const variables = Deno.env.toObject();
  const home = findHome(variables, options.store);
  const uri = options.mlflow ?? variables["MLFLOW_TRACKING_URI"];
  if (!uri) {
    throw new UsageError(
      "Cannot mirror without a server: give --mlflow http://… or set MLFLOW_TRACKING_URI " +
        "(npx -y deno task mlflow starts one)",
    );
  }
  const { connection, ...input } = {
    ...mirrorOptions(home, uri, variables),
    connection: connectionOf(uri, variables),
  };
  const paths = storePaths(home.store);
  const known = await ownStudies(paths);
  if (study !== undefined && !known.includes(study)) {
    throw new UsageError(unknownName("study", study, known));
  }
  const wanted = lockedStudies(home.store, study === undefined ? known : [study]);
  let said = 0;
  const mirror = openMirror({
    ...input,
    connection,
    onSaid(sentence) {
      said += 1;
      console.error(sentence);
    },
  });
  for (const id of wanted.keys()) mirror.follow(id, null);
  try {
    await mirror.pass(
      Object.fromEntries([...wanted.keys()].map((id) => [id, studyEnd(paths, id)])),
    );
  } catch (error) {
    if (!(error instanceof MlflowError)) throw error;
    throw new UsageError(`${error.message}. What was mirrored stays: sync again to go on`);
  } finally {
    for (const lock of wanted.values()) lock.release();
  }
  console.log(
    `${wanted.size} ${wanted.size === 1 ? "study" : "studies"} mirrored to ` +
      `${connection.shown}, experiment ${input.experiment}` +
      (said === 0
        ? ""
        : `; ${said} ${said === 1 ? "thing" : "things"} not as recorded, said above`),
  );
}

/** The runs behind a server's address, an `mlruns` folder or MLflow's SQLite file. */
function runsBehind(
  source: string,
  experiment: string | undefined,
): { location: string; runs: AsyncIterable<Foreign> | Iterable<Foreign> } {
  if (/^https?:/i.test(source)) {
    const connection = connectionOf(source, Deno.env.toObject());
    const runs = serverRuns(createMlflowClient(connection), experiment);
    return { location: connection.shown, runs };
  }
  const path = resolve(
    source.replace(
      /^(sqlite|file):\/\/\/?/i,
      (_, kind: string) => kind.toLowerCase() === "file" ? "/" : "",
    ),
  );
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined) {
    throw new UsageError(
      `Cannot import ${path} as it is not there: give a server's address, an mlruns folder or ` +
        `MLflow's .db file`,
    );
  }
  if (!info.isDirectory()) requireFile(path);
  const runs = info.isDirectory() ? folderRuns(path, experiment) : databaseRuns(path, experiment);
  return { location: path, runs };
}

/** `pare import mlflow`: takes the runs of another MLflow store over. */
export async function importMlflowCommand(
  source: string,
  options: { store?: string; experiment?: string },
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  const { location, runs } = runsBehind(source, options.experiment);
  const folders = newFolders(home);
  try {
    await using store = await openStore(home.store, { write: true });
    sayImported(await importRuns(store, { source: "mlflow", location }, runs));
  } catch (error) {
    if (!(error instanceof MlflowError)) throw error;
    throw new UsageError(`${error.message}. What was imported stays: import again to go on`);
  } finally {
    folders.removeUnused(); // a source that is refused is read after the store was opened
  }
}
