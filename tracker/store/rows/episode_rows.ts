import type { JournalRecord } from "../../../core/mod.ts";
import { adds, type Change, moment } from "./change.ts";

/** One turn of the loop: its reward term by term, the front after it, what it refused. */
export function episodeRows(
  { at, episode }: Extract<JournalRecord, { type: "episode_closed" }>,
  position: number,
): Change[] {
  const { front, refused, reward = null, ...fields } = episode;
  const { study_id, number } = episode;
  return [
    ...adds("episodes", [{
      ...fields,
      reward: reward?.value ?? null,
      position,
      happened_at: moment(at),
      front_size: front.length,
    }]),
    ...adds("episode_rewards", (reward?.terms ?? []).map((one) => ({ study_id, number, ...one }))),
    ...adds("episode_front", front.map((trial_id, rank) => ({ study_id, number, rank, trial_id }))),
    ...adds("refused", refused.map((one) => ({ study_id, number, ...one }))),
  ];
}
