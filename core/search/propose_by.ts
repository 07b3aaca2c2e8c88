import type { SearchContext } from "../contract/plugin.ts";
import type { Answer } from "../schemas/proposal.ts";
import { recoveryOf } from "../strategies/recovery.ts";
import { fitsTime, untried, usableMethods } from "../strategies/untried.ts";
import { checkPoint } from "./points.ts";
import type { Algorithm, SearchState, Seen } from "./space.ts";
import { type StudySearch, studySearch } from "./study_search.ts";

/** Points that cannot be, were tried or take too long, which an algorithm may name in one asking. */
const PATIENCE = 40;

/**
 * What a search algorithm proposes for a study. First comes what an agent declares to win back lost
 * quality. A point that is forbidden, or whose recipe needs more than the time that is left, is refused
 * before any work and shown to the algorithm as infeasible. Null where it has nothing left or names
 * nothing that can be; where it names only what takes too long, that, so that the study says so. `more`: what
 * else the algorithm is told.
 */
export function proposeBy(
  context: SearchContext,
  algorithm: Algorithm,
  more: (study: StudySearch) => Pick<SearchState, "near" | "worthwhile"> = () => ({}),
): Answer | null {
  if (usableMethods(context).length === 0) return null;
  const recovery = recoveryOf(context, untried(context));
  if (recovery !== null) return recovery;
  const study = studySearch(context);
  const { space, left_out } = study;
  const state = { ...study.state, ...more(study) };
  const refused: Seen[] = [];
  let tooLong: Answer | null = null;
  for (let attempt = 0; attempt < PATIENCE; attempt++) {
    const made = algorithm({ ...state, seen: [...state.seen, ...refused] });
    if (made === null) break;
    if (checkPoint(space, made.point) === null) {
      const beside = left_out.length === 0
        ? ""
        : `; ${left_out.length} of the recipes tried have no place in its space`;
      const reason = made.reason + beside;
      const actions = space.actionsOf(made.point);
      const answer: Answer = { actions, origin: { mode: made.mode, reason } };
      if (fitsTime(context, actions)) return answer;
      tooLong ??= answer;
    }
    refused.push({ point: made.point, state: "infeasible", values: null });
  }
  return tooLong;
}
