import { kindOf, trialName, type Weighable, weighable } from "../../../core/mod.ts";
import type { StudyView } from "../view/study_view.ts";
import { trialColumns } from "../view/trial_columns.ts";

/** What the script of a page with a front is told (client/front.js). */
export interface FrontData {
  readonly trials: readonly {
    readonly trial_id: string;
    /** Such as `t02`. */
    readonly name: string;
    readonly recipe: string;
    /** Its own page; absent: it has none. */
    readonly href?: string;
    /** What a reader who points at it is told: a heading and a text each. */
    readonly figures: readonly (readonly [string, string])[];
  }[];
  /** Null: no weights could choose a trial. */
  readonly weigh: Weighable | null;
}

/** More than so many trials are told of only where they are on the front: the page stays small. */
const MOST_TOLD = 1000;

/** A study as the script of its page is told of it. */
export function frontData(view: StudyView): FrontData {
  const { spec, facts, trials, request } = view;
  const columns = trialColumns(view, ["standing", "figures", "front_probability"]);
  const told = view.rows.filter((row) =>
    row.on_front || row.baseline || view.rows.length <= MOST_TOLD
  );
  return {
    trials: told.map((row) => ({
      trial_id: row.trial_id,
      name: trialName(row.number),
      recipe: row.recipe,
      figures: columns.map(({ heading, metric, cell }) =>
        [metric === "standing" ? "" : heading, cell(row)] as const
      ).filter(([, text]) => text !== "–"),
    })),
    weigh: kindOf(request).needs.front
      ? weighable({ spec, facts, trials, request, stop: "exhausted" })
      : null,
  };
}
