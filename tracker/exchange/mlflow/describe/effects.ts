import type { UsedDataset } from "../client/client.ts";
import { withoutCredentials } from "../client/connection.ts";
import { cut, LIMITS } from "../client/server_limits.ts";
import type { RunData } from "../client/log_batch.ts";
import type { RunStatus } from "../client/answers.ts";

/** Whose run is written: a trial's, or, null, the study's. */
export interface Recipient {
  readonly study_id: string;
  readonly trial_id: string | null;
}

/** One thing that a record asks of the server. Doing it twice leaves what doing it once leaves. */
export type Effect =
  & { readonly to: Recipient }
  & (
    | { readonly kind: "log"; readonly data: RunData }
    | {
      readonly kind: "status";
      readonly status: RunStatus;
      /** Milliseconds since 1970; null while it runs. */
      readonly end_time: number | null;
    }
    | { readonly kind: "text"; readonly path: string; readonly text: string }
    /** A file that may be gone or too large: then it is left out, and that is said. */
    | {
      readonly kind: "file";
      readonly path: string;
      readonly file: string;
      /** There may be none, as beside a model that came from elsewhere. */
      readonly optional?: boolean;
    }
    | { readonly kind: "datasets"; readonly datasets: readonly UsedDataset[] }
    | { readonly kind: "recommend"; readonly recommended: Recommended }
  );

/** A file of a checkpoint: where it lies here, and its path below the checkpoint's folder there. */
export interface CheckpointFile {
  readonly path: string;
  readonly file: string;
}

/** A checkpoint that a study recommends, for the model registry. */
export interface Recommended {
  readonly model: string;
  readonly description: string;
  readonly trial_id: string;
  readonly artifact_id: string;
  readonly location: string;
  /** Its files, and those of the weights that a setting needs. */
  readonly files: readonly CheckpointFile[];
  readonly at: string;
}

type Values = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Values as the server takes them, names as they are; what has no value is left out. */
function pairs(values: Values, limit: number): { key: string; value: string }[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === null || value === undefined || value === ""
      ? []
      : [{ key, value: cut(withoutCredentials(String(value)), limit) }]
  );
}

/** A document as an artifact's text; a command in it may have held a password. */
export function jsonText(value: unknown): string {
  return withoutCredentials(`${JSON.stringify(value, null, 2)}\n`);
}

export function params(values: Values): { key: string; value: string }[] {
  return pairs(values, LIMITS.param_value);
}

export function tags(values: Values): { key: string; value: string }[] {
  return pairs(values, LIMITS.tag_value);
}

/** Figures of one moment as points. */
export function points(
  figures: Readonly<Record<string, number | null>>,
  timestamp: number,
  step = 0,
): NonNullable<RunData["metrics"]> {
  return Object.entries(figures).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value, timestamp, step }]
  );
}
