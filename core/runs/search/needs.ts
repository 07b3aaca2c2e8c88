import type { RunNeeds } from "../../contract/run_needs.ts";

/** What a search needs, driven by its loop or by hand. */
export const SEARCH_NEEDS: RunNeeds = {
  model: true,
  baseline: true,
  methods: true,
  rungs: "asked",
  timed: true,
  earlier_studies: true,
  front: true,
  constraints: true,
  limits: true,
  side_by_side: true,
  not_elsewhere: null,
  not_by_hand: null,
};
