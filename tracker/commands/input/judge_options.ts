import { baseUrl, type Judge, type Rubric, UsageError } from "../../../core/mod.ts";
import { addressProblem } from "../../../core/schemas/endpoint.ts";
import type { EvaluationConfig } from "../../../core/serving/evaluation/evaluation_config.ts";
import { readRubric } from "../../lab/judging/rubrics.ts";

/** Options that name judges, as commander hands them over. */
export interface JudgeOptions {
  /** A rubric that ships, or a YAML file. */
  judge?: string;
  judgeEndpoint?: string[];
  judgeModel?: string[];
  judgeChat?: boolean;
  judgePrice?: string;
}

/** Who judges, and by what, in the words of an evaluation's plan. */
export interface JudgesAsked {
  judge?: JudgeInput;
  panel?: JudgeInput[];
  rubric?: Rubric;
}

type JudgeInput = Pick<Judge, "base_url"> & Partial<Judge>;

/** Judges that a configuration names beside those of the command line. */
type Configured = NonNullable<EvaluationConfig["llm_eval"]>;

function priceOf(text: string | undefined) {
  if (text === undefined) return {};
  const prices = text.split(",").map((one) => one.trim() === "" ? NaN : Number(one));
  if (prices.length !== 2 || !prices.every((one) => Number.isFinite(one) && one >= 0)) {
    throw new UsageError(
      `Cannot read --judge-price ${text}: it must be two numbers, such as 0.15,0.6`,
    );
  }
  return { input_price: prices[0]!, output_price: prices[1]! };
}

/** The nth of what was named; of one alone that one. */
function nth<T>(all: readonly T[], place: number): T | undefined {
  return all.length === 1 ? all[0] : all[place];
}

function keyOf(place: number, base_url: string, first: string) {
  // A key goes to its own server: judges elsewhere have their own.
  if (place === 0 || new URL(base_url).origin === new URL(first).origin) return {};
  return { key_variable: `JUDGE_${place + 1}_API_KEY` };
}

function plainAddress(text: string): string {
  const why = addressProblem(text);
  if (why === null) return baseUrl(text);
  throw new UsageError(
    `Cannot ask the judge at ${text.replace(/\/\/[^/]*@/, "//…@").replace(/[?#].*/, "?…")}: ${why}`,
  );
}

/** Each judge that options and configuration name, the first the one that is asked alone. */
function judgesOf(
  { judgeEndpoint, judgeModel = [], judgeChat, judgePrice }: JudgeOptions,
  { base_url, model, temperature, key_variable, api, input_price, output_price }: Partial<
    Configured
  >,
): JudgeInput[] {
  const urls = (judgeEndpoint ?? (base_url === undefined ? [] : [base_url])).map(plainAddress);
  const models = judgeModel.length > 0 || model === undefined ? judgeModel : [model];
  const count = Math.max(urls.length, models.length);
  if (urls.length > 1 && models.length > 1 && urls.length !== models.length) {
    throw new UsageError(
      `Cannot pair ${urls.length} --judge-endpoint with ${models.length} --judge-model: name one ` +
        "of either, or as many",
    );
  }
  const prices = judgePrice === undefined ? { input_price, output_price } : priceOf(judgePrice);
  const given = { ...prices, temperature, key_variable, api };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return Array.from({ length: count }, (_, place) => ({
    ...set,
    ...(judgeChat === true ? { api: "chat" as const } : {}),
    base_url: nth(urls, place)!,
    model: nth(models, place) ?? null,
    ...keyOf(place, nth(urls, place)!, urls[0]!),
  }));
}

/**
 * The judges that were named, and the rubric; empty: none was. `patience`: how long each is waited for.
 *
 * @throws UsageError an option that needs a judge, without one
 */
export function judgesAsked(
  options: JudgeOptions,
  patience: Partial<Judge> = {},
  configured: Partial<Configured> = {},
): JudgesAsked {
  const there = options.judgeEndpoint ?? configured.base_url;
  if (there === undefined) {
    const given = (["judge", "judgeModel", "judgeChat", "judgePrice"] as const)
      .find((name) => options[name] !== undefined);
    if (given === undefined) return {};
    const flag = given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new UsageError(`Cannot take --${flag} without --judge-endpoint URL`);
  }
  const [judge, ...panel] = judgesOf(options, configured).map((one) => ({ ...patience, ...one }));
  const rubric = options.judge ?? configured.rubric;
  return {
    judge: judge!,
    ...(panel.length === 0 ? {} : { panel }),
    ...(rubric === undefined ? {} : { rubric: readRubric(rubric) }),
  };
}
