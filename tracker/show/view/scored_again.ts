import { kindOf, type ScoredAgain } from "../../../core/mod.ts";
import { judgeNotes } from "../judging/judged_figures.ts";
import type { StudyView } from "./study_view.ts";

/** A scoring of answers that were kept, as a page tells it. */
export type ScoringNote =
  & Pick<ScoredAgain, "task" | "scorer" | "scorer_version" | "beside_because">
  & {
    /** ISO 8601. */
    readonly at: string;
  };

/** The newest scoring of each task and scorer, in the order in which they were made. */
export function newestScorings<S extends ScoringNote>(scorings: readonly S[]): S[] {
  return scorings.filter((one, place) =>
    !scorings.slice(place + 1).some(({ task, scorer }) =>
      task === one.task && scorer === one.scorer
    )
  );
}

/**
 * What a reader must know of figures whose answers were scored again: a sentence a task and scorer.
 * `decides`: the run decided something by the earlier scores.
 */
export function scoringNotes(scorings: readonly ScoringNote[], decides: boolean): string[] {
  return newestScorings(scorings).map(({ task, scorer, scorer_version, beside_because, at }) => {
    const told = `${task} was scored again on ${at.slice(0, 10)} with ${scorer} ${scorer_version}`;
    if (beside_because !== null) {
      return `${told}: those scores stand beside its own, in the table scorings, as ${beside_because}.`;
    }
    return decides
      ? `${told}: figures, front and rewards are of these scores; verdicts, gates and the ` +
        "recommendation rest on the earlier ones."
      : `${told}: its figures are of these scores.`;
  });
}

/** What is to be said beside the figures of a study: what its front is of, and what was scored again. */
export function figureNotes(
  { front_note, scored_again, judged, request }: Pick<
    StudyView,
    "front_note" | "scored_again" | "judged" | "request"
  >,
): string[] {
  const scorings = scoringNotes(scored_again, kindOf(request).needs.front);
  return [...(front_note === null ? [] : [front_note]), ...scorings, ...judgeNotes(judged)];
}
