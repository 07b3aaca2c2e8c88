import { createHash } from "node:crypto";
import type { Provenance } from "../../../core/mod.ts";
import { adds, type Change, moment, type Row } from "./change.ts";

/** One value for the pins of every environment: sha256 over `name hash` lines, 16 hex digits. */
function environmentLock(environments: Provenance["environments"]): string {
  const lines = Object.entries(environments).map(([name, hash]) => `${name} ${hash}\n`).sort();
  return createHash("sha256").update(lines.join("")).digest("hex").slice(0, 16);
}

/** Where a trial or a run of a study came from; NULLs for a record that did not say. */
export function provenanceColumns(provenance: Provenance | undefined): Row {
  return {
    command: provenance?.command ?? null,
    code_commit: provenance?.code_commit ?? null,
    pare_version: provenance?.pare_version ?? null,
    model_revision: provenance?.model_revision ?? null,
    environment_lock: provenance === undefined ? null : environmentLock(provenance.environments),
  };
}

/** A run of a study, from its opening or from where it was taken up, and its environments. */
export function runRows(
  record: { study_id: string; at: string; provenance?: Provenance | undefined },
  position: number,
  resumed: boolean,
): Change[] {
  const { study_id, at, provenance } = record;
  const columns = provenanceColumns(provenance);
  return [
    ...adds("runs", [{ study_id, position, started_at: moment(at), resumed, ...columns }]),
    ...adds(
      "environments",
      Object.entries(provenance?.environments ?? {}).map(([environment, pins_hash]) => ({
        study_id,
        position,
        environment,
        pins_hash,
        environment_lock: columns["environment_lock"] ?? null,
      })),
    ),
  ];
}
