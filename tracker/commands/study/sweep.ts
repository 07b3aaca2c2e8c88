import { parsePositive } from "../../ground/terminal/parse_values.ts";
import { knobsOf, listedWords as words } from "../input/knob_list.ts";
import { readDocument } from "../input/read_document.ts";
import { studyFromOptions } from "../input/study_document.ts";
import { runStudyCommand, type StudyCommandOptions } from "./run.ts";

/** Options of `pare sweep`, as commander hands them over. */
export interface SweepOptions extends StudyCommandOptions {
  methods?: string;
  budgets?: string;
  set?: string;
}

/** What is swept where nobody says it: the policies that papers are compared with, and usual budgets. */
const DEFAULT = {
  methods: ["streaming", "h2o", "snapkv", "pyramidkv"],
  budgets: [128, 256, 512],
};

/** The sweep that options describe, over its document. */
function sweepFromOptions(
  { methods, budgets, set, ...options }: SweepOptions,
  document: Readonly<Record<string, unknown>> = {},
) {
  const plan = {
    ...DEFAULT,
    ...document["sweep"] as object | undefined, // its schema is checked with the whole document
    ...(methods === undefined ? {} : { methods: words(methods) }),
    ...(budgets === undefined
      ? {}
      : { budgets: words(budgets).map((one) => parsePositive(one, "--budgets")) }),
    ...(set === undefined ? {} : { set: knobsOf(set, "--set") }),
  };
  return studyFromOptions(options, { ...document, sweep: plan });
}

/** `pare sweep`: every method with every budget, each a trial. */
export async function sweepCommand(file: string | undefined, options: SweepOptions): Promise<void> {
  const request = sweepFromOptions(options, readDocument(file));
  await runStudyCommand(options, (lab) => lab.open(request));
}
