import type { JournalRecord } from "../../../core/mod.ts";
import { adds, type Change, moment } from "./change.ts";

/** One turn of the loop: its reward term by term, the front after it, what it refused. */
export function episodeRows(
  { at, episode }: Extract<JournalRecord, { type: "episode_closed" }>,
  position: number,
): Change[] {
  const {
    front,
    refused,
    reward = null,
    hypervolume_interval,
    front_probability = {},
    neighbours = [],
    groups = [],
    spent,
    beliefs = [],
    ...fields
  } = episode;
  const { study_id, number } = episode;
  return [
    ...adds("episodes", [{
      ...fields,
      reward: reward?.value ?? null,
      hypervolume_low: hypervolume_interval?.[0] ?? null,
      hypervolume_high: hypervolume_interval?.[1] ?? null,
      spent_seconds: spent?.seconds ?? null,
      spent_gpu_hours: spent?.gpu_hours ?? null,
      spent_joules: spent?.joules ?? null,
      position,
      happened_at: moment(at),
      front_size: front.length,
    }]),
    ...adds("episode_rewards", (reward?.terms ?? []).map((one) => ({ study_id, number, ...one }))),
    ...adds("episode_front", front.map((trial_id, rank) => ({ study_id, number, rank, trial_id }))),
    ...adds(
      "episode_probabilities",
      Object.entries(front_probability).map(([trial_id, one]) => ({
        ...{ study_id, number, trial_id },
        front_probability: one,
      })),
    ),
    ...adds(
      "episode_neighbours",
      neighbours.map(({ interval: [low, high], existing = null, ...one }, place) => ({
        ...{ study_id, number, place },
        ...one,
        ...{ low, high, existing },
      })),
    ),
    ...adds(
      "episode_groups",
      groups.flatMap((members, group_number) =>
        members.map((trial_id, place) => ({ study_id, number, group_number, place, trial_id }))
      ),
    ),
    ...adds("beliefs", beliefs.map((one) => ({ study_id, number, ...one }))),
    ...adds("refused", refused.map((one) => ({ study_id, number, ...one }))),
  ];
}
