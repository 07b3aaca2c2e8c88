import type { RunNeeds } from "../../contract/run_needs.ts";

/** What a staged run needs: its plan says what is tried, so that nothing earlier helps it. */
export const STAGES_NEEDS: RunNeeds = {
  model: true,
  baseline: true,
  methods: true,
  rungs: "asked",
  timed: true,
  earlier_studies: false,
  front: true,
  constraints: true,
  limits: true,
  side_by_side: false,
  not_elsewhere: null,
  not_by_hand: "its stages run in the order of their document, each judged before the next: call " +
    "run(), which goes on where it stopped",
};
