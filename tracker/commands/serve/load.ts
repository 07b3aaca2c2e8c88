import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type LoadLimits, type LoadMeasured, UsageError } from "../../../core/mod.ts";
import { checkHome, findHome } from "../../ground/home.ts";
import { Stopped } from "../../ground/terminal/interrupt.ts";
import { parsePositive, parseWhole } from "../../ground/terminal/parse_values.ts";
import type { LoadTarget } from "../../serving/load/ask_stream.ts";
import { type ClientLimit, clientLimit } from "../../serving/load/client_limit.ts";
import { findTarget } from "../../serving/load/find_target.ts";
import { measureStep, type StepMeasured } from "../../serving/load/measure_load.ts";
import type { StepAsked } from "../../serving/load/run_step.ts";
import { figures } from "../../show/plots/figures.ts";
import { openStore } from "../../store/store.ts";
import { interruptible } from "../output/interruptible.ts";
import { clientNotes, comparedLine, loadTable } from "./load_text.ts";

/** What `pare load` may be told. */
export interface LoadOptions {
  store?: string;
  rate?: string;
  concurrency?: string;
  arrivals: "constant" | "poisson";
  requests?: string;
  seconds?: string;
  warming: string;
  promptTokens: string;
  outputTokens: string;
  answerLimit: string;
  firstTokenLimit?: string;
  betweenTokensLimit?: string;
  servedModel?: string;
  against?: string;
  againstModel?: string;
  seed?: string;
  output?: string;
}

const SECONDS = 20;

/** `1,2,4` as numbers above 0. */
function levelsOf(text: string, option: string, whole: boolean): number[] {
  return text.split(",").map((one) =>
    whole ? parseWhole(one.trim(), option, 1) : parsePositive(one.trim(), option)
  );
}

function stepsOf(options: LoadOptions): StepAsked[] {
  const { rate, concurrency, requests, seconds } = options;
  if (rate !== undefined && concurrency !== undefined) {
    throw new UsageError(
      "Cannot take --rate and --concurrency at once: one load is requests a second, the other at a time",
    );
  }
  const load = rate === undefined ? "concurrency" as const : "rate" as const;
  const levels = rate === undefined
    ? levelsOf(concurrency ?? "1,2,4", "--concurrency", true)
    : levelsOf(rate, "--rate", false);
  const shared = {
    arrivals: options.arrivals,
    warming: parseWhole(options.warming, "--warming", 0),
    prompt_tokens: parseWhole(options.promptTokens, "--prompt-tokens", 1),
    output_tokens: parseWhole(options.outputTokens, "--output-tokens", 1),
    answer_seconds: parsePositive(options.answerLimit, "--answer-limit"),
    ...(requests === undefined ? {} : { requests: parseWhole(requests, "--requests", 1) }),
    ...(seconds === undefined && requests !== undefined
      ? {}
      : { seconds: parsePositive(seconds ?? String(SECONDS), "--seconds") }),
  };
  return levels.map((level) => ({ load, level, ...shared }));
}

function limitsOf({ firstTokenLimit, betweenTokensLimit }: LoadOptions): LoadLimits {
  const limit = (text: string | undefined, option: string) =>
    text === undefined ? null : parsePositive(text, option);
  return {
    first_token_ms: limit(firstTokenLimit, "--first-token-limit"),
    between_tokens_ms: limit(betweenTokensLimit, "--between-tokens-limit"),
  };
}

function recordOf(
  load_id: string,
  step: number,
  { target, asked, summary, requests }: StepMeasured,
  against: boolean,
  limits: LoadLimits,
  client: ClientLimit,
): LoadMeasured {
  return {
    type: "load_measured",
    at: new Date().toISOString(),
    study_id: load_id,
    ...{ server: target.base_url, model: target.model, against, step },
    ...{ load: asked.load, level: asked.level },
    ...{ asked_prompt_tokens: asked.prompt_tokens, asked_output_tokens: asked.output_tokens },
    first_token_limit_ms: limits.first_token_ms,
    between_tokens_limit_ms: limits.between_tokens_ms,
    client_requests_per_second: client.requests_per_second,
    client_tokens_per_second: client.tokens_per_second,
    summary,
    requests: [...requests],
  };
}

async function targetsOf(
  url: string,
  options: LoadOptions,
  tokens: number,
  signal: AbortSignal,
): Promise<LoadTarget[]> {
  const first = await findTarget(url, options.servedModel, tokens, signal);
  if (options.against === undefined) return [first];
  const second = await findTarget(options.against, options.againstModel, tokens, signal);
  if (first.base_url !== second.base_url) return [first, second];
  throw new UsageError(
    `Cannot hold ${first.base_url} against itself: --against takes the address of another server`,
  );
}

/** `pare load URL`: a served model under loads; rows in the store, and a figure. */
export async function loadCommand(url: string, options: LoadOptions): Promise<void> {
  const steps = stepsOf(options);
  const limits = limitsOf(options);
  const seed = options.seed === undefined
    ? crypto.getRandomValues(new Uint32Array(1))[0]!
    : parseWhole(options.seed, "--seed", 0);
  const home = findHome(Deno.env.toObject(), options.store);
  await checkHome(home, true);
  const stop = interruptible(
    (text) => console.error(text),
    () => true,
    "what was measured is kept",
  );
  const targets = await targetsOf(url, options, steps[0]!.output_tokens, stop.signal);
  const cut = targets.filter(({ ignores_ends }) => !ignores_ends);
  for (const { base_url } of cut) {
    console.error(
      `note: ${base_url} takes no ignore_eos, so its answers may be shorter than asked`,
    );
  }
  const client = await clientLimit(steps[0]!, stop.signal);
  const load_id = `load-${new Date().toISOString().replaceAll(/\D/g, "").slice(0, 17)}`;
  const all: StepMeasured[] = [];
  const compared: string[] = [];
  await using store = await openStore(home.store, { write: true });
  for (const [number, asked] of steps.entries()) {
    if (stop.signal.aborted) break;
    console.error(`${asked.load} ${asked.level}, seed ${seed}`);
    const measured = await measureStep(targets, asked, limits, seed, stop.signal);
    if (stop.signal.aborted) break; // a step that was cut is none
    for (const [at, one] of measured.entries()) {
      await store.record(recordOf(load_id, number, one, at > 0, limits, client));
    }
    all.push(...measured);
    const line = comparedLine(measured);
    if (line !== null) compared.push(line);
  }
  if (all.length === 0) throw new Stopped("Stopped: no load was measured");
  console.log([loadTable(all), "", ...compared, ...clientNotes(all, client)].join("\n"));
  const rows = await store.ask(
    "SELECT * FROM loads WHERE study_id = $load ORDER BY server, load_step",
    { params: { load: load_id } },
  );
  const directory = resolve(options.output ?? join(home.studies, load_id));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "load.svg"), figures.servedLoad(rows));
  console.log(`SELECT * FROM loads WHERE study_id = '${load_id}'; figure: ${directory}/load.svg`);
}
