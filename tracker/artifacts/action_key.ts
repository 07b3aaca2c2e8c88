import type { ResolvedAction } from "../../core/mod.ts";
import { sha256Text } from "../ground/storage/file_hash.ts";

/** Everything that decides what an action makes. */
export interface ActionInputs {
  /** Artifact that the action works on; null for an import. */
  parent_id: string | null;
  /** Null for an import: then `source` says what is imported. */
  action: Pick<ResolvedAction, "agent" | "method" | "params"> | null;
  source?: string;
  seed: number;
  /** Of the windows of text that it works on; null: it works without. */
  data_sha256: string | null;
  source_closure_sha256: string;
  environment_hash: string;
  /** Of the program that it runs beside: its environment and its source; absent: it runs none. */
  tool_hash?: string;
  /** Of the study's uncompressed model, where the method learns from it; absent: it does not. */
  original_id?: string;
  /** Of the model before what rounded or pruned the parent, where the method leads back to it. */
  reference_id?: string;
  /** Of the smaller model that may take its place; absent: there is none. */
  student_id?: string;
  /** What the study asked of every action; absent: nothing. */
  options?: object;
}

/** JSON with sorted keys: equal values give equal text. Numbers that JSON lacks are refused. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    entries.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
    return `{${
      entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(",")
    }}`;
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`Cannot hash ${value} as part of an action's key`);
  }
  return JSON.stringify(value);
}

/** Of what is kept with an artifact; raised, those of before are made again once. 2: layer cosines. */
const VERSION = 2;

/** The name under which an action's result is found before any work: equal inputs, equal key. */
export function actionKey(inputs: ActionInputs): string {
  const { action } = inputs;
  const named = action === null
    ? null
    : { agent: action.agent, method: action.method, params: action.params };
  return sha256Text(canonicalJson({ version: VERSION, ...inputs, action: named }));
}
