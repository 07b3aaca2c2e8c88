/**
 * What runs of a kind need, as data: set-up, loop, reports and exchange ask these, and never which kind
 * they have.
 */
export interface RunNeeds {
  /** Whether it has a model, which is looked at; false: each of its members is a run with its own. */
  readonly model: boolean;
  /** Whether the original is measured first, and every trial held against it. */
  readonly baseline: boolean;
  /** Whether agents' methods are applied, which takes their environments and text to work on. */
  readonly methods: boolean;
  /** Rungs that its trials climb: those that the request asks for, or the last alone. */
  readonly rungs: "asked" | "last";
  /** Whether speed and memory of the original and of each trial are measured in a runtime. */
  readonly timed: boolean;
  /** Whether it is shown trials of earlier studies, and what formats cost the original's layers. */
  readonly earlier_studies: boolean;
  /** Whether its trials stand on a front, which is drawn and may be weighed anew. */
  readonly front: boolean;
  /** Whether its trials are held to constraints on quality and memory, which who is there is asked for. */
  readonly constraints: boolean;
  /** Whether limits of time, energy or trials end it, and are set anew as it is taken up. */
  readonly limits: boolean;
  /** Whether its trials may be under way side by side. */
  readonly side_by_side: boolean;
  /** Why an engine's machines have nothing to compute for it, as words after "as"; null: they have. */
  readonly not_elsewhere: string | null;
  /** Why nobody may drive it step by step, as words after "as"; null: one may. */
  readonly not_by_hand: string | null;
}
