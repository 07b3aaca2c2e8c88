import { Z95 } from "../evidence/statistics.ts";
import { weightedMean } from "../evidence/strata.ts";
import { trialName } from "../strategies/strategy_names.ts";
import type { ComparedLatency } from "./compared_latency.ts";

/** A latency as the reward counts it. */
export interface CountedLatency {
  /** Over the original's. */
  readonly ratio: number;
  /** What it is, for whoever reads the reward. */
  readonly note: string;
}

/** One stored form as it was timed. */
interface Form {
  readonly name: string;
  readonly log: number;
  readonly error: number;
  readonly sessions: number;
  /** Numbers of the trials that have it. */
  readonly numbers: number[];
}

const ORIGINAL: Form = { name: "", log: 0, error: 0, sessions: 1, numbers: [] };

/**
 * What each trial's latency counts as in its reward, by trial id. Latencies that their intervals do not
 * tell apart count as equal, so that noise of a machine decides nothing: those not told apart from the
 * original's as 1, the others, from the fastest on, as the mean of those not told apart from the fastest
 * of them. Trials without a ratio are absent.
 */
export function equalLatencies(
  trials: readonly { readonly trial_id: string; readonly number: number }[],
  latencies: ReadonlyMap<string, ComparedLatency>,
): Map<string, CountedLatency> {
  const counted = new Map<string, CountedLatency>();
  for (const group of groupsOf(formsOf(trials, latencies))) {
    const equals = group[0] === ORIGINAL;
    const ratio = equals ? 1 : Math.exp(meanLog(group));
    const members = equals ? [] : membersOf(group);
    for (const form of group) {
      if (form === ORIGINAL) continue;
      counted.set(form.name, { ratio, note: equals ? asOriginal(form) : noteOf(form, members) });
    }
  }
  return new Map(trials.flatMap(({ trial_id }) => {
    const form = latencies.get(trial_id)?.form;
    const found = form === undefined ? undefined : counted.get(form);
    return found === undefined ? [] : [[trial_id, found] as const];
  }));
}

function formsOf(
  trials: readonly { readonly trial_id: string; readonly number: number }[],
  latencies: ReadonlyMap<string, ComparedLatency>,
): Form[] {
  const forms = new Map<string, Form>();
  for (const { trial_id, number } of trials) {
    const found = latencies.get(trial_id);
    // The original is a form of its own; a ratio has an error, what sessions differ by if nothing else.
    if (found === undefined || found.ratio === null || !found.log_error) continue;
    const { form: name, ratio, log_error, sessions } = found;
    const numbers = forms.get(name)?.numbers ?? [];
    numbers.push(number);
    forms.set(name, { name, log: Math.log(ratio), error: log_error, sessions, numbers });
  }
  return [...forms.values()].sort((a, b) => a.log - b.log);
}

/** The original's group first: what is not surely faster or slower is no reason to change the model. */
function groupsOf(forms: readonly Form[]): Form[][] {
  const groups = [[ORIGINAL, ...forms.filter((form) => !isToldApart(form, ORIGINAL))]];
  for (const form of forms.filter((one) => isToldApart(one, ORIGINAL))) {
    const [fastest] = groups.length > 1 ? groups.at(-1)! : [];
    if (fastest !== undefined && !isToldApart(form, fastest)) groups.at(-1)!.push(form);
    else groups.push([form]);
  }
  return groups;
}

function isToldApart(a: Form, b: Form): boolean {
  return Math.abs(a.log - b.log) > Z95 * Math.hypot(a.error, b.error);
}

/** The mean over forms, the surer ones counting more. */
function meanLog(group: readonly Form[]): number {
  return weightedMean(group.map(({ log, error }) => ({ value: log, weight: 1 / error ** 2 })));
}

const NOT_TOLD_APART = "not told apart from";

/** What a reward's note says of latencies that count as equal; null: of none. */
export function equalitySaid(note: string | null): string | null {
  const at = note?.indexOf(NOT_TOLD_APART) ?? -1;
  return at < 0 ? null : note!.slice(at);
}

/** A trial of a group, by its number. */
interface Member {
  readonly number: number;
  readonly form: Form;
}

function membersOf(group: readonly Form[]): Member[] {
  return group.flatMap((form) => form.numbers.map((number) => ({ number, form })))
    .sort((a, b) => a.number - b.number);
}

function beside({ sessions }: Form): string {
  const over = "over the baseline of the same minutes";
  return sessions > 1 ? `${over}, mean of ${sessions} sessions` : over;
}

function asOriginal(form: Form): string {
  return `${beside(form)}; ${NOT_TOLD_APART} the original's: it counts as equal`;
}

/** Names that a note gives at most: each of thousands would name all the others. */
const MOST_NAMED = 12;

function noteOf(form: Form, members: readonly Member[]): string {
  const named: string[] = [];
  for (const { number, form: other } of members) {
    if (named.length === MOST_NAMED) break;
    if (other !== form) named.push(trialName(number));
  }
  if (named.length === 0) return beside(form);
  const left = members.length - form.numbers.length - named.length;
  const more = left === 0 ? "" : ` and ${left} more`;
  return `${beside(form)}; ${NOT_TOLD_APART} that of ${
    named.join(", ")
  }${more}: they count as equal`;
}
