import { trialName, UsageError } from "../../../core/mod.ts";
import { unknownName } from "../../../core/mod.ts";
import type { Media } from "../../ground/terminal/kernel.ts";
import { groupSentences } from "../view/group_words.ts";
import type { StudyView } from "../view/study_view.ts";
import { trialColumns } from "../view/trial_columns.ts";
import { frontFigures, type TrialFigures, trialFigures } from "../view/trial_figures.ts";
import type { TrialRow } from "../view/trial_rows.ts";
import { type Displayed, displayed } from "./display.ts";
import { tableMedia } from "./table.ts";
import { figureNotes } from "../view/scored_again.ts";

/** Rows of a study that a cell shows as a table. */
export type Rows<Row> = Displayed<Row[]>;

const COLUMNS = [
  "trial",
  "recipe",
  "figures",
  "difference",
  "front_probability",
  "reward",
  "seconds",
  "standing",
] as const;

/** Trials of a study as a table; all of them where none are named. */
export function trialsMedia(view: StudyView, ids?: readonly string[]): Media {
  const rows = ids === undefined
    ? view.rows
    : ids.flatMap((id) => view.rows.find(({ trial_id }) => trial_id === id) ?? []);
  const notes = rows.length > 0 || view.rows.length === 0
    ? []
    : ["No trial is on the front: none was evaluated in full."];
  const apart = ids === view.front ? groupSentences(view) : [];
  return tableMedia(trialColumns(view, COLUMNS), rows, {
    notes: [...figureNotes(view), ...apart, ...notes],
  });
}

/** Every trial as a flat row; a cell shows the table. */
export function trialsOf(view: StudyView): Rows<TrialFigures> {
  return displayed(trialFigures(view), () => trialsMedia(view));
}

/** The front as flat rows, the best first; a cell shows the table. */
export function frontOfView(view: StudyView): Rows<TrialFigures> {
  return displayed(frontFigures(view), () => trialsMedia(view, view.front));
}

/** A trial by its number, its name `t02` or its whole id; an unknown one gets the nearest. */
export function findTrial(view: StudyView, name: string | number): TrialRow {
  const found = view.rows.find((row) =>
    row.trial_id === name || trialName(row.number) === name || row.number === name
  );
  if (found !== undefined) return found;
  const known = view.rows.map((row) => trialName(row.number));
  if (known.length === 0) {
    throw new UsageError(
      `Cannot find ${name} as ${view.study_id} has no trial yet: run() it first`,
    );
  }
  throw new UsageError(unknownName("trial", String(name), known));
}
