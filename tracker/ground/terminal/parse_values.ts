import { unknownName, UsageError, type WeightName, WEIGHTS } from "../../../core/mod.ts";

const SECONDS = { s: 1, m: 60, h: 3600, d: 86400 } as const;

/** "2h", "30m", "90s", "1.5h" in seconds; a plain number is seconds. */
export function parseDuration(text: string, option: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([smhd]?)$/.exec(text.trim());
  const unit = (match?.[2] ?? "") as keyof typeof SECONDS | "";
  const value = match === null ? NaN : Number(match[1]) * (unit === "" ? 1 : SECONDS[unit]);
  if (!(value > 0)) {
    throw new UsageError(
      `Cannot take ${option} as a time: it must be above 0, such as 90s, 30m or 2h: ` +
        `current value is "${text}"`,
    );
  }
  return value;
}

/** A number above 0; `option` and the value stand in the sentence where it is none. */
export function parsePositive(text: string, option: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value > 0) || !Number.isFinite(value)) {
    throw new UsageError(
      `Cannot take ${option} as a number above 0: current value is "${text}"`,
    );
  }
  return value;
}

/** A share from 0 to 1. */
export function parseShare(text: string, option: string): number {
  const share = Number(text);
  if (text.trim() === "" || !(share >= 0 && share <= 1)) {
    throw new UsageError(
      `Cannot take ${option} as a share from 0 to 1: current value is "${text}"`,
    );
  }
  return share;
}

/** A whole number of at least `minimum`. */
export function parseWhole(text: string, option: string, minimum: number): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value) || value < minimum) {
    throw new UsageError(
      `Cannot take ${option} as a whole number of at least ${minimum}: current value is "${text}"`,
    );
  }
  return value;
}

/** The tokens of `8k`, which are 8 × 1,024, or of `2048`; null: it is no length. */
export function contextTokens(word: string): number | null {
  const [, digits, thousand] = /^(\d+)(k?)$/i.exec(word.trim()) ?? [];
  const tokens = Number(digits) * (thousand ? 1024 : 1);
  return tokens >= 1 ? tokens : null;
}

/** One length of a prompt. */
export function parseContext(text: string, option: string): number {
  const tokens = contextTokens(text);
  if (tokens !== null) return tokens;
  throw new UsageError(
    `Cannot take ${option} as the length of a prompt: it is such as 8k or 2048, not "${text}"`,
  );
}

/** "50GB", "500MB", "20" (gigabytes) in bytes. */
export function parseBytes(text: string, option: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(gb|mb|tb|)$/i.exec(text.trim());
  const factor = { "": 1e9, gb: 1e9, mb: 1e6, tb: 1e12 }[match?.[2]?.toLowerCase() ?? "x"];
  const bytes = match === null || factor === undefined ? 0 : Number(match[1]) * factor;
  if (!(bytes > 0)) {
    throw new UsageError(
      `Cannot take ${option} as a size: it must look like 50GB or 500MB: current value is "${text}"`,
    );
  }
  return bytes;
}

/** "accuracy=0.6,latency=0.2" as weights by name. */
export function parseObjectives(
  text: string,
  option = "--objectives",
): Partial<Record<WeightName, number>> {
  const weights: Partial<Record<WeightName, number>> = {};
  for (const part of text.split(",")) {
    const [name = "", value = ""] = part.split("=").map((word) => word.trim());
    const weight = Number(value);
    if (name === "" || value === "" || !(weight >= 0 && weight <= 1)) {
      throw new UsageError(
        `Cannot take ${option} as NAME=WEIGHT with NAME one of ${WEIGHTS.join(", ")} and ` +
          `WEIGHT from 0 to 1: current value is "${part}"`,
      );
    }
    const known = WEIGHTS.find((one) => one === name);
    if (known === undefined) throw new UsageError(unknownName("objective", name, WEIGHTS));
    if (known in weights) {
      throw new UsageError(`Cannot take ${option} "${text}" as it weighs ${name} twice`);
    }
    weights[known] = weight;
  }
  return weights;
}

/** What the numbers of a list by name may be. */
interface Range {
  readonly holds: (number: number) => boolean;
  readonly words: string;
}

const ABOVE_0: Range = { holds: (number) => number > 0, words: "above 0" };
const SHARE: Range = { holds: (number) => number >= 0 && number <= 1, words: "from 0 to 1" };

/** "NAME=NUMBER,…" as numbers by name; `as` and `example` are the sentence's where it is not. */
function parseNamed(
  text: string,
  as: string,
  example: string,
  { holds, words } = ABOVE_0,
): Record<string, number> {
  return Object.fromEntries(
    text.split(",").map((part) => {
      const [name, value] = part.split("=").map((word) => word.trim());
      const number = Number(value);
      if (!name || !value || !holds(number) || !Number.isFinite(number)) {
        throw new UsageError(
          `Cannot take ${as} ${words}, such as ${example}: current value is "${part}"`,
        );
      }
      return [name, number];
    }),
  );
}

/** "mmlu=2,gsm8k=1" as weights above 0 by task. */
export function parseTaskWeights(text: string): Record<string, number> {
  return parseNamed(text, "--task-weights as TASK=WEIGHT with a WEIGHT", "mmlu=2,gsm8k=1");
}

/** "gsm8k=0.02,mmlu=0.01" as the most that a task may lose. */
export function parseTaskDrops(text: string): Record<string, number> {
  return parseNamed(
    text,
    "--max-task-drop as TASK=SHARE with a SHARE",
    "gsm8k=0.02,mmlu=0.01",
    SHARE,
  );
}

/** A goal against the original: better by at least so much, or worse by at most so much. */
const GOAL = /^[^=,\s]+=[+-]\d+(\.\d+)?%?$/;

/** "latency_ms=+30%,accuracy=-2%" as goals against the original, by metric or task. */
export function parseGoals(text: string): Record<string, string> {
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part !== "");
  const odd = parts.find((part) => !GOAL.test(part));
  if (odd !== undefined || parts.length === 0) {
    throw new UsageError(
      `Cannot read --goals ${
        odd ?? text
      }: write NAME=+30% or NAME=+0.5 for at least so much better, ` +
        "NAME=-2% or NAME=-0.01 for at most so much worse, such as latency_ms=+30%,accuracy=-2%",
    );
  }
  const goals = parts.map((part) => part.split("=") as [string, string]);
  const twice = goals.find(([name], at) => goals.findIndex((one) => one[0] === name) < at)?.[0];
  if (twice !== undefined) {
    throw new UsageError(`Cannot read --goals ${text}: ${twice} stands twice; leave one out`);
  }
  return Object.fromEntries(goals);
}

/** "kl=0.1,flips=0.2" as the most that a trial may be from the original, by metric. */
export function parseGates(text: string): Record<string, number> {
  return parseNamed(text, "--gates as METRIC=NUMBER with a NUMBER", "kl=0.1,flips=0.2");
}
