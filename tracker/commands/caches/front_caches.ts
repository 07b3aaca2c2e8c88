import {
  LONGEST_MS,
  type Runtime,
  type StudyEvent,
  trialName,
  UsageError,
} from "../../../core/mod.ts";
import type { StudySession } from "../../session/study_session.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { goOnBy } from "../output/go_on.ts";
import { cachesText } from "./caches.ts";

/** Beside a context's tokens: what is generated after it, and a turn of a few. */
const AFTER = 64 + 8;
/** Pairs of prompts: a study's end is not to take as long as the study. */
const PASSES = 2;

/** Of the front's trials the first with each weights, the best first. */
export function weightsOnFront(
  { front, trials, artifacts }: Pick<StudyView, "front" | "trials" | "artifacts">,
): string[] {
  const seen = new Set<string>();
  const original = [...artifacts.values()].find(({ action }) => action === null)?.artifact_id;
  return front.filter((trial_id) => {
    const last = trials.find((one) => one.trial_id === trial_id)?.artifact_ids.at(-1) ?? original ??
      trial_id;
    const weights = artifacts.get(last)?.weights_id ?? last;
    return !seen.has(weights) && seen.add(weights);
  });
}

/**
 * The context with a half and a quarter of it, where the model reads it with what is generated after it, and
 * the runtime's settings with those that go by its length.
 */
function atContext(
  { spec: { context_tokens }, facts: { model } }: StudyView,
  { settings, sized }: NonNullable<Runtime["caches"]>,
) {
  if (context_tokens === undefined || context_tokens + AFTER > model.context_length) return {};
  const contexts = [4, 2, 1].map((part) => Math.max(1, Math.floor(context_tokens / part)));
  const own = sized?.(context_tokens) ?? [];
  return own.length === 0
    ? { contexts }
    : { contexts, settings: [...Object.keys(settings), ...own] };
}

/** The share of a study's budget that its end has, where the study itself used all of it. */
const BEYOND = 0.25;

/** Seconds that the end of a study has: what is left of its budget, and a part of it at least. */
function secondsAtEnd({ request: { budget_seconds }, episodes }: StudyView): number {
  if (budget_seconds === undefined) return Infinity;
  return Math.max(
    budget_seconds - (episodes.at(-1)?.spent?.seconds ?? 0),
    BEYOND * budget_seconds,
  );
}

/**
 * Settings of a runtime, measured of the weights of each trial on the front, and those that pay scored: a text
 * for each. A trial of which they cannot be measured, or not in the study's time, says why; the others are.
 */
export async function frontCaches(
  session: StudySession,
  { name: runtime, caches }: Pick<Runtime, "name"> & Required<Pick<Runtime, "caches">>,
  { onEvent, signal, store }: {
    readonly onEvent: (event: StudyEvent) => void;
    readonly signal: AbortSignal;
    readonly store?: string | undefined;
  },
): Promise<string[]> {
  const view = await session.view();
  const ends = AbortSignal.timeout(Math.min(LONGEST_MS, 1000 * secondsAtEnd(view)));
  const texts: string[] = [];
  for (const trial of weightsOnFront(view)) {
    const { number } = view.trials.find(({ trial_id }) => trial_id === trial)!;
    const of = `The weights of ${
      trialName(number)
    } in ${runtime}, under its own settings of the cache`;
    const command = goOnBy(["caches", trial], { "--runtime": runtime, "--store": store });
    const late = `${of}: the time of the study's budget is over; \`${command}\` measures them`;
    if (ends.aborted) {
      texts.push(late);
      continue;
    }
    try {
      const cheap = { passes: PASSES, scores: "paying" as const };
      const options = {
        runtime,
        trial,
        ...cheap,
        ...atContext(view, caches),
        onEvent,
        signal: ends,
      };
      texts.push(`${of}:\n${cachesText(await session.caches(options))}`);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      if (signal.aborted) {
        return [...texts, `${of}: their measuring was stopped; \`${command}\` measures them`];
      }
      texts.push(ends.aborted ? late : `${of}: ${error.message}`);
    }
  }
  return texts;
}
