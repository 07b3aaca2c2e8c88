import { UsageError } from "../../../core/mod.ts";
import { parseBytes } from "../../ground/terminal/parse_values.ts";
import type { Home } from "../../ground/home.ts";
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
    const mirror = startMirror({ ...options, ...(onSaid === undefined ? {} : { onSaid }) });
    return { mirror, note: null, [Symbol.asyncDispose]: () => mirror.stop() };
  } catch (error) {
    if (uri !== undefined || !(error instanceof UsageError)) throw error;
    return { ...NONE, note: `not mirrored to MLflow: ${error.message}` };
  }
}
