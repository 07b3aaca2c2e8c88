import {
  type Handoff,
  handoffOf,
  type StageDecision,
  type StageSize,
  stageSizes,
  stagesPlan,
} from "../../../core/mod.ts";
import type { StudyView } from "../view/study_view.ts";

/** A check with the size of what it judged, as `figures.qualityByRatio` takes it. */
export interface StagedRow extends Omit<StageDecision, "interval"> {
  readonly interval_low: number | null;
  readonly interval_high: number | null;
  /** Bytes of the original at 2 a weight / bytes on disk; null: nothing was made. */
  readonly ratio: number | null;
}

/** The ledger of a staged study as flat rows; empty: it is none, or nothing is decided. */
export function stagedRows({ stage_decisions, artifacts, facts }: StudyView): StagedRow[] {
  return stage_decisions.filter(({ attempt }) => attempt > 0).map(({ interval, ...row }) => {
    const bytes = artifacts.get(row.to_artifact ?? "")?.size_bytes;
    return {
      ...row,
      interval_low: interval?.[0] ?? null,
      interval_high: interval?.[1] ?? null,
      ratio: bytes === undefined ? null : facts.model.fp16_bytes / bytes,
    };
  });
}

/** What every attempt of a staged study left on disk. */
export function sizesOf({ request, stage_decisions, artifacts, facts }: StudyView): StageSize[] {
  if (stage_decisions.length === 0) return [];
  return stageSizes(stage_decisions, stagesPlan(request), artifacts, facts);
}

/** The handoff of a staged study; null: it is none, or has not shipped. */
export function handoffOfView(view: StudyView): Handoff | null {
  const { study_id, stage_decisions: ledger, trials, artifacts, facts } = view;
  if (ledger.length === 0) return null;
  const plan = stagesPlan(view.request);
  return handoffOf({ study_id, plan, ledger, trials, artifacts, facts });
}
