import {
  baseUrl,
  FULL,
  kindAsked,
  PROXY,
  type StudyLimits,
  type StudyRequestInput,
  UsageError,
} from "../../../core/mod.ts";
import type { EngineAsked } from "../../jobs/workers/lab_engine.ts";
import { checkStudy } from "../../lab/check_study.ts";
import { readRules } from "../../lab/search/strategy_rules.ts";
import { parseRungs, parseSampleCounts, parseSampling } from "./parse_samples.ts";
import {
  parseContext,
  parseDuration,
  parseGates,
  parseGoals,
  parseObjectives,
  parsePositive,
  parseShare,
  parseTaskDrops,
  parseTaskWeights,
  parseWhole,
} from "../../ground/terminal/parse_values.ts";
import type { StudyOption } from "./study_option.ts";
import { flagName, optionName, type RunOptions, STUDY_OPTIONS } from "../study/study_options.ts";

/** Part of a study document: fields as options give them. */
type Fields = Record<string, unknown>;

/** The value of an option's words; mistakes are refused by the option's name. */
function readWords(option: StudyOption, words: string | boolean | string[]): unknown {
  if (typeof words !== "string") return words;
  const flag = flagName(option);
  switch (option.reads) {
    case "flag":
    case "off":
    case "repeated":
    case "text":
      return words;
    case "names":
      return words.split(",").map((name) => name.trim());
    case "address":
      return baseUrl(words);
    case "share":
      return parseShare(words, flag);
    case "positive":
      return parsePositive(words, flag);
    case "context":
      return parseContext(words, flag);
    case "duration":
      return parseDuration(words, flag);
    case "objectives":
      return parseObjectives(words);
    case "task weights":
      return parseTaskWeights(words);
    case "task drops":
      return parseTaskDrops(words);
    case "goals":
      return parseGoals(words);
    case "gates":
      return parseGates(words);
    case "sampling":
      return parseSampling(words);
    case "proxy counts":
      return parseSampleCounts(words, PROXY);
    case "full counts":
      return parseSampleCounts(words, FULL);
    case "rung counts":
      return parseRungs(words);
    case "rules file":
      return readRules(words);
    case "whole from 1 or auto":
      return words === "auto" ? words : parseWhole(words, `${flag}, where not auto,`, 1);
    default:
      return parseWhole(words, flag, Number(option.reads.slice("whole from ".length)));
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Both with all their fields; where both have one, the second's. */
function merged(first: Fields, second: Fields): Fields {
  const common = Object.entries(second).map(([name, value]) => {
    const before = first[name];
    return [name, isFields(before) && isFields(value) ? merged(before, value) : value];
  });
  return { ...first, ...Object.fromEntries(common) };
}

/** What the options of some kinds say, as fields of a study document. */
function fieldsOf(options: RunOptions, kinds: readonly StudyOption["of"][]): Fields {
  const given = STUDY_OPTIONS.filter(({ of }) => kinds.includes(of)).flatMap((option) => {
    const words = options[optionName(option)];
    if (words === undefined || (option.reads === "off" && words === true)) return [];
    const path = option.field.split(".");
    return [{ path, value: readWords(option, words) }];
  });
  // A field of its own (`--limit`) stands above what an option for all of them says (`--sampling`).
  return given.sort((a, b) => a.path.length - b.path.length).reduce<Fields>(
    (fields, { path, value }) =>
      merged(
        fields,
        path.reduceRight<Fields>((inner, name) => ({ [name]: inner }), value as Fields),
      ),
    {},
  );
}

/** The limits that options set: of a new study, or anew of one that is taken up. */
export function limitsFromOptions(options: RunOptions): StudyLimits {
  return fieldsOf(options, ["limit"]);
}

/** Where a command's studies run, and how widely, as options say it. */
export type PlaceWords = Pick<RunOptions, "workers"> & Pick<EngineAsked, "engine" | "engines">;

/** Where and how widely a command's studies run, whatever they were begun with. */
export function placeFromOptions(
  { engine, engines, ...options }: PlaceWords,
): EngineAsked {
  return {
    ...(engine === undefined ? {} : { engine }),
    ...(engines === undefined ? {} : { engines }),
    ...fieldsOf(options, ["place"]),
  };
}

/** Fields of a document that an option adds to; every other takes the place of the document's. */
const ADDED = ["constraints", "samples", "strategist"] as const;

/** Checkpoints that were made elsewhere, behind the document's strategies; alone, they are all that is tried. */
function candidatesOf(
  { candidates = [] }: RunOptions,
  { strategies = [], ...base }: Partial<StudyRequestInput>,
  given: Fields,
): Fields {
  if (candidates.length === 0) return {};
  const own = candidates.map((checkpoint) => ({ checkpoint }));
  const asked = { ...base, ...given };
  const { max_trials = own.length, max_full_evaluations = own.length } = asked;
  return {
    strategies: [...strategies, ...own],
    ...(strategies.length > 0 ? {} : { max_trials, max_full_evaluations }),
  };
}

/** The study that options describe; fields of `base` (a document) stand where no option is given. */
export function studyFromOptions(options: RunOptions, base: Partial<StudyRequestInput> = {}) {
  const given = fieldsOf(options, ["task", "limit", "study", "place"]);
  const added = ADDED.flatMap((name) => {
    const parts = [base[name], given[name]].filter(isFields);
    return parts.length === 0 ? [] : [[name, parts.reduce(merged)]];
  });
  const document = {
    ...base,
    ...given,
    ...Object.fromEntries(added),
    ...candidatesOf(options, base, given),
  };
  const kind = kindAsked(document);
  const { model_name, dataset } = "problem" in kind ? document : kind.complete(document);
  if (model_name === undefined || dataset === undefined) {
    throw new UsageError(
      "Cannot start a study without a model and a dataset: give --model NAME|PATH and " +
        "--dataset NAME|FILE.jsonl, or a study.json that holds model_name and dataset",
    );
  }
  return checkStudy(document, "study");
}
