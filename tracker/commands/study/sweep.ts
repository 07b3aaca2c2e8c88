import { type KnobValue, UsageError } from "../../../core/mod.ts";
import { parsePositive, parseShare } from "../../ground/terminal/parse_values.ts";
import { readDocument } from "../input/read_document.ts";
import { studyFromOptions } from "../input/study_document.ts";
import { runStudyCommand, type StudyCommandOptions } from "./run.ts";

/** Options of `pare sweep`, as commander hands them over. */
export interface SweepOptions extends StudyCommandOptions {
  methods?: string;
  budgets?: string;
  set?: string;
  maxAccuracyDrop?: string;
}

/** What is swept where nobody says it: the policies that papers are compared with, and usual budgets. */
const DEFAULT = {
  methods: ["streaming", "h2o", "snapkv", "pyramidkv"],
  budgets: [128, 256, 512],
};

function words(list: string): string[] {
  return list.split(",").map((word) => word.trim()).filter((word) => word !== "");
}

/** A knob's value as it stands in an option. */
function knobValue(text: string): KnobValue {
  if (text === "true" || text === "false") return text === "true";
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

function knobsOf(list: string): Record<string, KnobValue> {
  return Object.fromEntries(
    words(list).map((pair) => {
      const [name, value] = pair.split("=", 2);
      if (value !== undefined && name !== "") return [name!.trim(), knobValue(value)];
      throw new UsageError(
        `Cannot read --set ${list}: write knob=value, such as window=16`,
      );
    }),
  );
}

/** The sweep that options describe, over its document. */
function sweepFromOptions(
  { methods, budgets, set, maxAccuracyDrop: drop, ...options }: SweepOptions,
  document: Readonly<Record<string, unknown>> = {},
) {
  const plan = {
    ...DEFAULT,
    ...document["sweep"] as object | undefined, // its schema is checked with the whole document
    ...(methods === undefined ? {} : { methods: words(methods) }),
    ...(budgets === undefined
      ? {}
      : { budgets: words(budgets).map((one) => parsePositive(one, "--budgets")) }),
    ...(set === undefined ? {} : { set: knobsOf(set) }),
  };
  const limits = drop === undefined
    ? {}
    : { constraints: { max_accuracy_drop: parseShare(drop, "--max-accuracy-drop") } };
  return studyFromOptions(options, { ...document, ...limits, sweep: plan });
}

/** `pare sweep`: every method with every budget, each a trial. */
export async function sweepCommand(file: string | undefined, options: SweepOptions): Promise<void> {
  const request = sweepFromOptions(options, await readDocument(file));
  await runStudyCommand(options, (lab) => lab.open(request));
}
