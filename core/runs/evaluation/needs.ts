import type { RunNeeds } from "../../contract/run_needs.ts";

/** What an evaluation needs: the model and its samples. */
export const EVALUATION_NEEDS: RunNeeds = {
  model: true,
  baseline: false,
  methods: false,
  rungs: "last",
  timed: false,
  earlier_studies: false,
  front: false,
  constraints: false,
  limits: false,
  side_by_side: false,
  not_elsewhere: null,
  not_by_hand: "it only evaluates: call run()",
};
