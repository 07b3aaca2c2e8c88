import type { RunNeeds } from "../../contract/run_needs.ts";

/** What a sweep needs: its plan says what is tried, and speed in torch says nothing of a cache. */
export const SWEEP_NEEDS: RunNeeds = {
  model: true,
  baseline: true,
  methods: true,
  rungs: "last",
  timed: false,
  earlier_studies: false,
  front: true,
  constraints: true,
  limits: true,
  side_by_side: true,
  not_elsewhere: null,
  not_by_hand: null,
};
