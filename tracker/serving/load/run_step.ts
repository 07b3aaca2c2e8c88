import { setTimeout as delay } from "node:timers/promises";
import { arrivals, type LoadRequest } from "../../../core/mod.ts";
import { askStream, type LoadTarget } from "./ask_stream.ts";
import { loadPrompt } from "./prompts.ts";

/** One load of one server. */
export interface StepAsked {
  readonly load: "rate" | "concurrency";
  /** Requests a second, or at a time. */
  readonly level: number;
  readonly arrivals: "constant" | "poisson";
  /** Requests that count, at most; undefined: as many as the time has. */
  readonly requests?: number;
  readonly seconds?: number;
  readonly warming: number;
  readonly prompt_tokens: number;
  readonly output_tokens: number;
  readonly answer_seconds: number;
}

/** Where the numbers of a step's requests go on, as its parts are run in turn with another server's. */
export interface StepState {
  readonly done: LoadRequest[];
  readonly random: () => number;
  /** Milliseconds that the parts before took. */
  active_ms: number;
}

/** Runs a part of a step: `requests` of it or, where that is undefined, what comes in `seconds`. */
export async function runPart(
  target: LoadTarget,
  asked: StepAsked,
  state: StepState,
  signal: AbortSignal,
): Promise<void> {
  const { done, random } = state;
  const began = performance.now() - state.active_ms; // the other server's time is none of its own
  const warm = async (count: number) => {
    await Promise.all(Array.from({ length: count }, () => one("warming", performance.now())));
  };
  const one = async (phase: LoadRequest["phase"], due: number) => {
    const number = done.length;
    const sent = performance.now();
    const times = { phase, sent_seconds: (sent - began) / 1000, late_ms: sent - due };
    const prompt = loadPrompt(asked.prompt_tokens, random);
    const place = done.push({ number, ...times, ...UNANSWERED }) - 1;
    const answered = await askStream(target, {
      prompt,
      output_tokens: asked.output_tokens,
      answer_seconds: asked.answer_seconds,
      signal,
    });
    done[place] = { number, ...times, ...answered };
  };
  await warm(asked.warming);
  if (asked.load === "concurrency") await closedLoop(asked, one, signal);
  else await openLoop(asked, one, random, signal);
  state.active_ms = performance.now() - began;
}

const UNANSWERED = {
  first_token_ms: null,
  between_tokens_ms: null,
  latency_ms: null,
  prompt_tokens: null,
  output_tokens: null,
  error: "it was not answered",
};

type One = (phase: LoadRequest["phase"], due: number) => Promise<void>;

/** So many at a time: each sends its next request when it has its answer. */
async function closedLoop(
  { level, requests = Infinity, seconds = Infinity }: StepAsked,
  one: One,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + 1000 * seconds;
  let left = requests;
  const worker = async () => {
    while (left > 0 && performance.now() < end && !signal.aborted) {
      left--;
      await one("measured", performance.now());
    }
  };
  await Promise.all(Array.from({ length: level }, worker));
}

/** So many a second, whether the server keeps up or not. */
async function openLoop(
  { level, arrivals: how, requests, seconds }: StepAsked,
  one: One,
  random: () => number,
  signal: AbortSignal,
): Promise<void> {
  const count = requests ?? Math.max(1, Math.round(level * seconds!));
  const begin = performance.now();
  const open: Promise<void>[] = [];
  for (const at of arrivals(level, count, how, random)) {
    if (seconds !== undefined && at > seconds) break;
    const due = begin + 1000 * at;
    await delay(Math.max(0, due - performance.now()));
    if (signal.aborted) break;
    open.push(one("measured", due));
  }
  await Promise.all(open);
}
