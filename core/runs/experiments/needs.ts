import type { RunNeeds } from "../../contract/run_needs.ts";

/** What a run of experiments needs: its members are runs of their own, and bring what they need. */
export const EXPERIMENTS_NEEDS: RunNeeds = {
  model: false,
  baseline: false,
  methods: false,
  rungs: "last",
  timed: false,
  earlier_studies: false,
  front: false,
  constraints: false,
  limits: false,
  side_by_side: false, // on one machine they would take each other's time
  not_elsewhere: "each of its models answers at an address, and asking there computes nothing",
  not_by_hand: "its members run one after the other: call run(), which goes on where it stopped",
};
