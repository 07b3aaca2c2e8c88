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
  | "checkpoints"
  | "names"
  | "address"
  | "share"
  | "positive"
  | "context"
  | "duration"
  | `whole from ${number}`
  | "whole from 1 or auto"
  | "objectives"
  | "task weights"
  | "task drops"
  | "goals"
  | "gates"
  | "sampling"
  | "proxy counts"
  | "full counts"
  | "rung counts"
  | "rules file";

/** What a person wants of an option, in the order of the help: those that most people need come first. */
export const OPTION_GROUPS = {
  "most used": "Most used:",
  "limits and aims": "What may be lost, and what counts:",
  effort: "How long it may take:",
  samples: "What is measured:",
  search: "What is tried:",
  trust: "What may be fetched and run:",
} as const;
export type OptionGroup = keyof typeof OPTION_GROUPS;

/** An option of a study: all that `pare run`, `evaluate` and `resume` know of it. */
export interface StudyOption {
  readonly flag: string;
  readonly help: string;
  readonly reads: Reads;
  readonly field: Field;
  /** task: what is evaluated, also where nothing is compressed; limit: what ends a study; place: where it runs. */
  readonly of: "task" | "limit" | "study" | "place";
  readonly group: OptionGroup;
}
