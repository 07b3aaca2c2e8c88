import type { RunRequest } from "../../../core/mod.ts";

/** Where in the request a value goes. */
type Field =
  | keyof RunRequest
  | `constraints.${keyof RunRequest["constraints"]}`
  | "sampling.limit"
  | `strategist.${"base_url" | "model"}`;

/** How the words of an option are read: the readers of `study_document.ts` have these names. */
export type Reads =
  | "flag"
  | "off" // commander gives true where `--no-x` is not given
  | "text"
  | "repeated"
  | "names"
  | "address"
  | "share"
  | "positive"
  | "duration"
  | `whole from ${number}`
  | "objectives"
  | "task weights"
  | "task drops"
  | "gates"
  | "sampling"
  | "proxy counts"
  | "full counts"
  | "rung counts"
  | "rules file";

/** An option of a study: all that `pare run`, `evaluate` and `resume` know of it. */
export interface StudyOption {
  readonly flag: string;
  readonly help: string;
  readonly reads: Reads;
  readonly field: Field;
  /** task: what is evaluated, also where nothing is compressed; limit: what ends a study. */
  readonly of: "task" | "limit" | "study";
}
