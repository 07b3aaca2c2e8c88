/** Success criteria: what the trial that a study recommends must come to. */
import { z } from "zod";
import { type Submission, unknownName, UsageError, type Verdict } from "../../../core/mod.ts";
import type { Store } from "../../store/store.ts";

/** What may be asked of the recommended trial, each with its columns of the view `recommended`. */
const MEASURES = {
  "accuracy drop": { value: "-difference", low: "-difference_high", high: "-difference_low" },
  "latency ratio": { value: "latency_ratio", low: "latency_ratio_low", high: "latency_ratio_high" },
  "size ratio": { value: "size_ratio", low: "size_ratio", high: "size_ratio" },
  latency: { value: "latency_ms", low: null, high: null },
  quality: { value: "quality", low: null, high: null },
} as const;
type Measure = keyof typeof MEASURES;
const NAMES = Object.keys(MEASURES) as Measure[];

const Parsed = z.strictObject({
  measure: z.enum(NAMES),
  decided: z.boolean().describe("the whole interval must keep the limit"),
  goal: z.enum(["<=", "<", ">=", ">"]),
  limit: z.number(),
});
type Parsed = z.infer<typeof Parsed>;

const GOALS: Readonly<Record<string, Parsed["goal"]>> = { "≤": "<=", "≥": ">=" };
const TEXT = /^\s*([a-z ]+?)\s*( decided)?\s*(<=|>=|<|>|≤|≥)\s*([\d.eE+-]+)(\s*%)?\s*$/;

/** A criterion as a person writes it, such as `accuracy drop decided <= 0.02`. */
export function readCriterion(text: string): Submission["success"][number] {
  const found = TEXT.exec(text);
  const limit = Number(found?.[4]) / (found?.[5] === undefined ? 1 : 100);
  if (found === null || !Number.isFinite(limit)) {
    throw new UsageError(
      `Cannot take the success criterion "${text}": write a measure, a goal and a limit, such as ` +
        `"accuracy drop decided <= 0.02"; measures are ${NAMES.join(", ")}`,
    );
  }
  const [, measure = "", decided, goal = ""] = found;
  const name = NAMES.find((one) => one === measure);
  if (name === undefined) throw new UsageError(unknownName("measure", measure, NAMES));
  if (decided !== undefined && MEASURES[name].low === null) {
    throw new UsageError(
      `Cannot take the success criterion "${text}": no interval is kept of ${name}; leave "decided" out`,
    );
  }
  const parsed = {
    measure: name,
    decided: decided !== undefined,
    goal: GOALS[goal] ?? goal,
    limit,
  };
  return { text: text.trim(), parsed: Parsed.parse(parsed) };
}

function holds(value: number, { goal, limit }: Parsed): boolean {
  if (goal === "<=") return value <= limit;
  if (goal === "<") return value < limit;
  return goal === ">=" ? value >= limit : value > limit;
}

interface Judged {
  readonly verdict: Verdict;
  readonly reason: string;
}

const figure = (value: number): string => String(Number(value.toPrecision(3)));

/** What a study's recommendation makes of a criterion. */
export async function judgeCriterion(
  store: Store,
  study_id: string,
  criterion: Submission["success"][number],
): Promise<Judged> {
  if (criterion.parsed === null) return { verdict: "undecided", reason: "a person judges it" };
  const asked = Parsed.parse(criterion.parsed);
  const { value, low, high } = MEASURES[asked.measure];
  const [row] = await store.ask(
    `SELECT trial_id, decision, exact, ${value} AS value, ${low ?? "NULL"} AS low, ${
      high ?? "NULL"
    } AS high ` +
      "FROM recommended WHERE study_id = $study",
    { params: { study: study_id } },
  );
  if (row === undefined || row["trial_id"] === null) {
    return { verdict: "not_met", reason: `${study_id} recommends no trial` };
  }
  const trial = String(row["trial_id"]);
  const number = (name: string) => row[name] === null ? NaN : Number(row[name]);
  const [point, from, to] = [number("value"), number("low"), number("high")];
  if (Number.isNaN(point)) {
    return { verdict: "undecided", reason: `${asked.measure} of ${trial} was not measured` };
  }
  const shown = `${asked.measure} of ${trial} is ${figure(point)}`;
  // Of a benchmark that was asked whole the difference itself is known.
  const whole = asked.measure === "accuracy drop" && row["exact"] === true;
  if (!asked.decided || whole) {
    return { verdict: holds(point, asked) ? "met" : "not_met", reason: shown };
  }
  if (Number.isNaN(from) || Number.isNaN(to)) {
    return { verdict: "undecided", reason: `${shown}, without an interval` };
  }
  const ends = [from, to].map((end) => holds(end, asked));
  const reason = `${shown} (${figure(from)} to ${figure(to)})`;
  if (ends.every((end) => end)) return { verdict: "met", reason };
  return { verdict: ends.some((end) => end) ? "undecided" : "not_met", reason };
}
