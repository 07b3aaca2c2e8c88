import { record, type Study } from "../../loop/study.ts";
import type { StageDecision } from "../../schemas/stages/decision.ts";
import { type StageCheck, UNMEASURED } from "./checks/check.ts";
import type { AttemptFigures } from "./adjust.ts";

/** The decisions of a staged run so far, and the only way to add to them. */
export interface Ledger {
  readonly rows: readonly StageDecision[];
  /** Writes rows in one record: of an attempt there are all or none. */
  add(rows: readonly Omit<StageDecision, "number">[]): Promise<void>;
}

/** The ledger of a study, with what earlier runs of it decided. */
export function openLedger(study: Study, before: readonly StageDecision[]): Ledger {
  const rows = [...before];
  return {
    rows,
    async add(more) {
      const decisions = more.map((row, i) => ({ ...row, number: rows.length + i }));
      const { study_id } = study.input;
      await record(study, { type: "stages_decided", study_id, decisions });
      rows.push(...decisions);
    },
  };
}

/** An attempt's place, and what it began with and made. */
export type About = Pick<
  StageDecision,
  "stage" | "stage_index" | "attempt" | "from_artifact" | "to_artifact" | "trial_id"
>;

/** A check as a row. */
export function checkRow(check: StageCheck, about: About): Omit<StageDecision, "number"> {
  const { interval, ...own } = check;
  return { ...own, interval: interval === null ? null : [interval[0], interval[1]], ...about };
}

/** A row that no figure stands in. */
export function saidRow(
  about: About,
  said:
    & Pick<StageDecision, "about" | "decision" | "reason">
    & Partial<Pick<StageDecision, "subject" | "value" | "adjustment">>,
): Omit<StageDecision, "number"> {
  return {
    subject: null,
    ...UNMEASURED,
    ...said,
    ...about,
  };
}

/** What was decided of an attempt; undefined: it is not decided yet. */
export function decidedOn(
  rows: readonly StageDecision[],
  stage_index: number,
  attempt: number,
): StageDecision | undefined {
  return rows.find((row) =>
    row.about === "attempt" && row.stage_index === stage_index && row.attempt === attempt
  );
}

/** What adjustments go by, of the checks of one attempt. */
export function figuresOf(
  checks: readonly Pick<StageDecision, "about" | "value" | "decision">[],
): AttemptFigures {
  return {
    core: checks.find(({ about }) => about === "cumulative")?.value ?? null,
    failed: checks.filter(({ decision }) => decision === "failed").length,
    too_large: checks.some(({ about, decision }) => about === "size" && decision === "failed"),
  };
}
