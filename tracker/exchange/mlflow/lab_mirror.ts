import { join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { parseBytes } from "../../ground/terminal/parse_values.ts";
import type { Home } from "../../ground/home.ts";
import {
  type FileLock,
  flockOwner,
  lockOwner,
  named,
  tryLock,
} from "../../ground/storage/file_lock.ts";
import { parseCheckpoints } from "./checkpoints.ts";
import { MAX_FILE_BYTES } from "./deliver.ts";
import { type MirrorOptions, type RunningMirror, startMirror } from "./start_mirror.ts";

type Variables = Readonly<Record<string, string>>;

/** The experiment that studies go into where MLFLOW_EXPERIMENT_NAME names none. */
const EXPERIMENT = "pare";

/** Where studies of a home are mirrored to. */
export function mirrorOptions(home: Home, uri: string, variables: Variables): MirrorOptions {
  const size = variables["PARE_MLFLOW_MAX_FILE"];
  const checkpoints = variables["PARE_MLFLOW_CHECKPOINTS"] || "front";
  return {
    root: home.store,
    reports: home.studies,
    uri,
    variables,
    experiment: variables["MLFLOW_EXPERIMENT_NAME"] || EXPERIMENT,
    checkpoints: parseCheckpoints(checkpoints, "PARE_MLFLOW_CHECKPOINTS"),
    max_file_bytes: size ? parseBytes(size, "PARE_MLFLOW_MAX_FILE") : MAX_FILE_BYTES,
  };
}

/** One process mirrors a store at a time; null where another does. */
export function lockMirror(root: string): FileLock | null {
  Deno.mkdirSync(root, { recursive: true });
  return tryLock(join(root, "mlflow.lock"), root);
}

/** The sentence for a store that another process mirrors. */
export function mirroredElsewhere(root: string): string {
  const owner = lockOwner(join(root, "mlflow.lock")) ?? flockOwner(root);
  const who = owner === null ? "another process" : named(owner);
  return `${who} mirrors the store ${root} already`;
}

/** The mirror of a lab, and why there is none although one was asked for. */
export interface LabMirror extends AsyncDisposable {
  readonly mirror: RunningMirror | null;
  readonly note: string | null;
}

const NONE: LabMirror = {
  mirror: null,
  note: null,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/**
 * Starts the mirror that `uri` or MLFLOW_TRACKING_URI asks for. The variable may be meant for other
 * programs, so that a store it names which is no server is a note and no mistake.
 *
 * @throws UsageError where `uri` cannot be used.
 */
export function openLabMirror(
  home: Home,
  uri: string | undefined,
  variables: Variables,
  onSaid?: (sentence: string) => void,
): LabMirror {
  const wanted = uri ?? variables["MLFLOW_TRACKING_URI"] ?? "";
  if (wanted === "") return NONE;
  try {
    const options = mirrorOptions(home, wanted, variables);
    const lock = lockMirror(home.store);
    if (lock === null) {
      const later = "this study is not mirrored; pare mlflow sync does it later";
      return { ...NONE, note: `${mirroredElsewhere(home.store)}: ${later}` };
    }
    try {
      const mirror = startMirror({ ...options, ...(onSaid === undefined ? {} : { onSaid }) });
      return {
        mirror,
        note: null,
        async [Symbol.asyncDispose]() {
          await mirror.stop();
          lock.release();
        },
      };
    } catch (error) {
      lock.release();
      throw error;
    }
  } catch (error) {
    if (uri !== undefined || !(error instanceof UsageError)) throw error;
    return { ...NONE, note: `not mirrored to MLflow: ${error.message}` };
  }
}
