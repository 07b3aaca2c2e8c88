import { existsSync, realpathSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import {
  type Assumption,
  type CallResult,
  DataKind,
  type DataNeed,
  type ModelFacts,
  type RunRequest,
  type StudyWindows,
  type UsedData,
  type WindowCounts,
} from "../../../core/mod.ts";
import { canonicalJson } from "../../artifacts/action_key.ts";
import { PROJECT_ROOT } from "../../ground/home.ts";
import { sha256Text } from "../../ground/storage/file_hash.ts";

/** Windows written where no strategy of the request asks for more. */
export const USUAL_WINDOWS: StudyWindows = {
  calibration: { windows: 32, tokens: 256 },
  training: { windows: 256, tokens: 256 },
};

/** The tiny model knows the words of its own language only. */
const TINY_TEXT = join(PROJECT_ROOT, "plugins", "evaluation", "data", "tiny_text.jsonl");
const SHIPPED = "shipped";

/** Windows of one kind as they lie on disk. */
export interface PreparedWindows extends WindowCounts {
  readonly path: string;
  /** Of every window, in the file's order. */
  readonly ids: readonly string[];
  /** Whose text: a file's path, or `shipped`. */
  readonly source: string;
  /** Why it looks like another language than what is evaluated; null: it does not. */
  readonly unlike: string | null;
}

/** The user's calibration text, or the data directory's, where it has one; null: pare's own text. */
function calibrationText(request: RunRequest, model: ModelFacts): string | null {
  if (request.calibration_data !== undefined) return realpathSync(request.calibration_data);
  if (model.source === "tiny") return TINY_TEXT;
  if (request.data_dir === undefined) return null;
  const path = resolve(request.data_dir, "wikitext2", "validation_calib.jsonl.gz");
  return existsSync(path) ? path : null;
}

/** The file of each kind's text; null: pare's own. */
export function windowSources(
  request: RunRequest,
  model: ModelFacts,
): Record<DataKind, string | null> {
  const calibration = calibrationText(request, model);
  const { training_data } = request;
  const training = training_data === undefined ? calibration : realpathSync(training_data);
  return { calibration, training };
}

/** The windows of a call's result, whose paths are relative to `folder`; null: none were made. */
export function preparedWindows(
  prepared: CallResult<"prepare_data">,
  folder: string,
  tokens: Readonly<Record<DataKind, number>>,
  sources: Readonly<Record<DataKind, string | null>>,
): Record<DataKind, PreparedWindows | null> {
  const { training } = prepared;
  const made = {
    calibration: {
      path: prepared.calibration_path,
      ids: prepared.calibration_ids,
      unlike: prepared.calibration_unlike,
    },
    training: training === undefined || training === null ? null : training,
  };
  const of = (kind: DataKind): PreparedWindows | null => {
    const found = made[kind];
    if (found === null) return null;
    const { path, ids, unlike = null } = found;
    return {
      path: join(folder, basename(path)),
      ids,
      windows: ids.length,
      tokens: tokens[kind],
      source: sources[kind] ?? SHIPPED,
      unlike,
    };
  };
  return { calibration: of("calibration"), training: of("training") };
}

/** How much there is of each kind. */
export function windowCounts(
  windows: Readonly<Record<DataKind, PreparedWindows | null>>,
): StudyWindows {
  const of = (kind: DataKind): WindowCounts => windows[kind] ?? { windows: 0, tokens: 0 };
  return { calibration: of("calibration"), training: of("training") };
}

/** What an action is given of the study's windows; null: it needs none, or there are none. */
export function usedData(
  windows: Readonly<Record<DataKind, PreparedWindows | null>>,
  need: DataNeed | null,
): { path: string; used: UsedData } | null {
  const there = need === null ? null : windows[need.kind];
  if (need === null || there === null) return null;
  const { kind } = need;
  const tokens = Math.min(need.tokens ?? there.tokens, there.tokens);
  const ids = there.ids.slice(0, need.windows ?? there.ids.length);
  const sha256 = sha256Text(canonicalJson([kind, tokens, ids]));
  const { path, source } = there;
  return { path, used: { kind, source, windows: ids.length, tokens, ids, sha256 } };
}

/** What was taken of each kind, and why. */
export function windowAssumptions(
  windows: Readonly<Record<DataKind, PreparedWindows | null>>,
  asked: StudyWindows,
): Assumption[] {
  return DataKind.options.flatMap((kind): Assumption[] => {
    const made = windows[kind];
    if (made === null || made.windows === 0) return [];
    const usual = USUAL_WINDOWS[kind];
    const more = made.windows > usual.windows || asked[kind].tokens > usual.tokens;
    const gives = more ? "as many as a strategy of the request takes" : `what the text gives`;
    const shipped = kind === "training" && made.source === SHIPPED
      ? "; no training text was named, so it is the text that pare ships, which comes from the " +
        "writer of its own samples: what it gains there says little of other tasks"
      : "";
    return [{
      field: kind,
      value: `${made.windows} windows of ${made.tokens} tokens`,
      source: more ? "asked" : "default",
      reason: `${gives}${shipped}${made.unlike === null ? "" : `; ${made.unlike}`}`,
    }];
  });
}
