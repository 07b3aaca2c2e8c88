import {
  type JournalRecord,
  type StudyEvent,
  type StudyRequestInput,
  type StudyResult,
  UsageError,
} from "../../../core/mod.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import { parseBytes } from "../../ground/terminal/parse_values.ts";
import { type Lab, openLab } from "../../session/lab.ts";
import type { StudySession } from "../../session/study_session.ts";
import { jsonText } from "../../show/json/print_json.ts";
import { chooseAsk } from "../../show/terminal/ask.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import {
  followProgress,
  progressText,
  type StudyProgress,
} from "../../show/view/study_progress.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { frontCaches } from "../caches/front_caches.ts";
import { checkedCaches } from "../../session/study_caches.ts";
import { readAsked } from "../experiments/read_asked.ts";
import { limitsFromOptions, placeFromOptions, studyFromOptions } from "../input/study_document.ts";
import { commandLine, resumeLine } from "../output/go_on.ts";
import { studyCard } from "../output/study_card.ts";
import { announce, conclude, introduce, sayMirrored } from "../output/study_said.ts";
import { interruptible } from "../output/interruptible.ts";
import type { RunOptions } from "./study_options.ts";

/** Options of the commands that run a study. */
export interface StudyCommandOptions extends RunOptions {
  store?: string;
  yes?: boolean;
  maxDisk?: string;
  output?: string;
  mlflow?: string;
  /** A runtime whose settings of the cache are measured at the end. */
  caches?: string;
  /** Whose machines run its calls; absent: this one. */
  engine?: string;
  engines?: string;
  json?: boolean;
}

/** Told how far a study is, at each of its trials. */
interface Followed {
  /** The command that goes on with a study; default: `pare resume` with its id and these options. */
  readonly goOn?: (study_id: string) => string;
  readonly onProgress?: (progress: StudyProgress) => void;
  /** Told of each record of the run. */
  readonly onRecord?: (record: JournalRecord) => void;
  /** Told what the study came to, while its lab is open. */
  readonly onEnd?: (view: StudyView, lab: Lab) => Promise<void>;
}

/** The study of the README: what a newcomer sees first. */
const DEMO: StudyRequestInput = {
  model_name: "demo",
  dataset: "demo",
  max_trials: 5,
  budget_seconds: 600,
};

/** Trials were run, and not one of them came to an end of its own. */
function onlyFailed({ trials }: StudyResult): boolean {
  const tried = trials.filter(({ strategy }) => strategy !== null);
  return tried.length > 0 && tried.every(({ state }) => state === "failed" || state === "invalid");
}

type Opening = (lab: Lab) => Promise<StudySession>;

/** Opens a study and runs it: what it says, asks and leaves are those of every command. */
export async function runStudyCommand(options: StudyCommandOptions & Followed, open: Opening) {
  const { store, mlflow, maxDisk, output, caches, yes = false, json = false } = options;
  const { onProgress, onRecord, onEnd } = options;
  const { goOn = (study_id) => resumeLine(study_id, options) } = options;
  if (output !== undefined) outsideStores(output, "write the report to");
  const screen = createLiveView(standardScreen(), () => Date.now());
  let begun = false;
  const { signal } = interruptible(screen.say, () => begun);
  const onEvent = (event: StudyEvent) => {
    screen.onEvent(event);
    announce(screen.say, event);
  };
  await using lab = await openLab({
    ...{ command: commandLine(), goOn, write: true, signal, onEvent },
    onSetup: (line) => screen.progressLine(line),
    onMirror: (sentence) => screen.say(sentence),
    ...(store === undefined ? {} : { store }),
    ...(mlflow === undefined ? {} : { mlflow }),
    ...placeFromOptions(options),
    ...(maxDisk === undefined ? {} : { maxDiskBytes: parseBytes(maxDisk, "--max-disk") }),
  });
  // A name that is none is said before any work.
  const tried = caches === undefined
    ? null
    : checkedCaches(lab.registry.runtimes, { runtime: caches }).runtime;
  const session = await open(lab);
  begun = true;
  introduce(session, screen.say);
  const before = await (await lab.store.current())?.journalOf(session.study_id) ?? [];
  const follow = followProgress(session.request, () => Date.now(), before);
  if (lab.mlflow.note !== null) screen.say(`note: ${lab.mlflow.note}`);
  const result = await session.run({
    ask: chooseAsk(yes || json),
    signal,
    onEvent: (event) => {
      onEvent(event);
      follow.onEvent(event);
      if (event.event === "record") onRecord?.(event.record);
      const begins = event.event === "record" && event.record.type === "trial_opened";
      if (!begins) return;
      screen.say(progressText(follow.progress()));
      onProgress?.(follow.progress());
    },
  });
  const measured = tried === null || result.stop === "cancelled"
    ? []
    : await frontCaches(session, tried, { onEvent, signal, store });
  screen.finish();
  const view = await session.view();
  const files = await session.report(output === undefined ? {} : { folder: output }, view);
  if (json) console.log(jsonText("study", studyCard(view, files)));
  else conclude(view, result.message, files);
  await onEnd?.(view, lab);
  for (const text of json ? [] : measured) console.log(`\n${text}`);
  await sayMirrored(lab.mlflow.mirror, output, json ? console.error : console.log);
  if (result.stop === "failed" || onlyFailed(result)) Deno.exitCode = 1;
  if (result.stop === "cancelled") Deno.exitCode = 130;
}

/** Refuses to put in line what an engine is named for. */
export function requireQueued({ engine }: Pick<StudyCommandOptions, "engine">): void {
  if (engine === undefined) return;
  throw new UsageError(
    `Cannot put a study in line with --engine ${engine}: pare queue add --engine names where a ` +
      "whole study runs, and without --queue its trials run there side by side",
  );
}

/** `pare run`: a study from options, a document, or both. */
export async function runCommand(
  file: string | undefined,
  { queue = false, ...options }: StudyCommandOptions & { queue?: boolean },
) {
  const document = await readAsked(file, options.store);
  const request = studyFromOptions(options, document);
  if (queue && options.caches !== undefined) {
    throw new UsageError(
      "Cannot put a study in line with --caches: measure them once it has run, by pare caches STUDY",
    );
  }
  if (queue) requireQueued(options);
  if (queue) return void await (await import("../queue/add.ts")).putInLine(request, options);
  await runStudyCommand(options, (lab) => lab.open(request));
}

/** The demo's model as its makers published it. */
const ON_THE_HUB = "HuggingFaceTB/SmolLM2-135M-Instruct";
/** Before the lines of a first set-up, which are many. */
const FIRST_WORDS = "SmolLM2-135M-Instruct is compressed in five ways, measured and compared: " +
  "about 10 minutes on two cores. Before the first study pare sets itself up, once: some minutes, 3.3 GB.";

/** `pare demo`: the README's study. */
export async function demoCommand({ model, ...options }: StudyCommandOptions & { model?: string }) {
  const chosen = model === "hub" ? { model_name: ON_THE_HUB } : {};
  const request = studyFromOptions({}, { ...DEMO, ...chosen });
  if (options.json !== true) console.log(FIRST_WORDS);
  await runStudyCommand({ ...options, yes: true }, (lab) => lab.open(request));
}

/** `pare resume`: goes on where a study stopped; finished trials are not run again. */
export async function resumeCommand(study: string | undefined, options: StudyCommandOptions) {
  const limits = limitsFromOptions(options);
  await runStudyCommand(options, (lab) => lab.resume(study, limits));
}
