import {
  type ActionInput,
  type Ask,
  type Proposal,
  type StudyEvent,
  type StudyResult,
  type Trial,
  UsageError,
} from "../../core/mod.ts";
import {
  type EpisodeCard,
  episodeCard,
  type TrialCard,
  trialCardOf,
} from "../show/notebook/cards.ts";
import { liveStudy } from "../show/notebook/live_study.ts";
import type { LabStudy } from "./lab_study.ts";
import type { StudyCompany } from "./start_study.ts";
import type { LabStudyByHand } from "./study_by_hand.ts";
import { silentAsk } from "../show/terminal/ask.ts";
import { type Broadcast, kernelBroadcast } from "../ground/terminal/kernel.ts";

/** What a study may be told when it is driven. */
export interface RunStudyOptions {
  /** Who is asked for what the request leaves open; default: nobody, the defaults are taken. */
  readonly ask?: Ask;
  /** Ends the study cleanly; it can be resumed. */
  readonly signal?: AbortSignal;
  /** Told of every step; default: a notebook's cell shows progress and a front that moves. */
  readonly onEvent?: (event: StudyEvent) => void;
}

/** One recipe: what `propose` gives, edited or not, or a list of actions of your own. */
export type Strategy = Pick<Proposal, "actions"> | readonly ActionInput[];

/** What is driven of a study. */
export type DrivenStudy = Pick<
  LabStudy,
  | "study_id"
  | "request"
  | "facts"
  | "spec"
  | "records"
  | "view"
  | "checkRecipe"
  | "run"
  | "openByHand"
>;

/** Ends after which a study goes on when it is run again. */
const GOES_ON: ReadonlySet<string> = new Set(["cancelled", "by_hand", "failed"]);

/** Who is told and asked; in a notebook nobody else being told, the cell shows the study. */
async function companyOf(
  { ask, signal, onEvent }: RunStudyOptions,
  study: DrivenStudy,
  broadcast: Broadcast | null,
): Promise<StudyCompany & { readonly finish: () => Promise<void> }> {
  const company = {
    ask: ask ?? silentAsk(), // "Run all" waits for nobody
    signal: signal ?? new AbortController().signal,
  };
  if (onEvent !== undefined || broadcast === null) {
    return { ...company, onEvent: onEvent ?? (() => {}), finish: () => Promise.resolve() };
  }
  const { request } = study;
  const view = () => study.view();
  const live = liveStudy({ request, view, before: await study.records() }, broadcast);
  return { ...company, ...live };
}

/** Actions in one text: whether a proposal was edited. */
function wordsOf(actions: unknown): string {
  return JSON.stringify(actions);
}

/** How one session's study is driven: whole, by episodes, trial by trial, or step by step. */
export class StudyDriver {
  readonly #study: DrivenStudy;
  readonly #broadcast: Broadcast | null;
  #finished: StudyResult | null = null;
  #hand: { study: LabStudyByHand; stop: AbortController } | null = null;
  /** What runs now: how to end it, and its end. */
  #running: { stop: AbortController; ended: Promise<unknown> } | null = null;
  /** What the samplers proposed, as they did: an edited one is the user's own. */
  readonly #proposed = new WeakMap<object, string>();

  constructor(study: DrivenStudy, broadcast: Broadcast | null = kernelBroadcast()) {
    this.#study = study;
    this.#broadcast = broadcast;
  }

  /** The coordinator's loop to its end; of a study that has ended the same result at once. */
  async runAll(options: RunStudyOptions = {}): Promise<StudyResult> {
    if (this.#finished !== null) return this.#finished;
    await this.#leaveHand();
    const company = await companyOf(options, this.#study, this.#broadcast);
    const stop = new AbortController();
    const signal = AbortSignal.any([company.signal, stop.signal]);
    try {
      return this.#keep(await this.#call(stop, () => this.#study.run({ ...company, signal })));
    } finally {
      await company.finish();
    }
  }

  /** One whole trial, the baseline before it where that lacks. */
  async runOne(strategy: Strategy, options: RunStudyOptions = {}): Promise<TrialCard> {
    // A mistake must not take up a study that has ended.
    this.#study.checkRecipe(actionsOf(strategy));
    return await this.#once(options, async (study) => {
      const proposal = this.#proposalOf(study, strategy);
      await study.baseline();
      const trial = await study.run(proposal);
      return trialCardOf(await this.#study.view(), trial);
    });
  }

  /** What would be run next. */
  propose(options: RunStudyOptions = {}): Promise<Proposal | null> {
    return this.#once(options, async (study) => {
      await study.baseline();
      const proposal = await study.propose();
      if (proposal !== null) this.#proposed.set(proposal.resolved, wordsOf(proposal.actions));
      return proposal;
    });
  }

  /** The coordinator's episodes one by one; whoever leaves early leaves a study that is closed. */
  async *episodes(options: RunStudyOptions = {}): AsyncGenerator<EpisodeCard, StudyResult> {
    if (this.#finished !== null) return this.#finished;
    const company = await companyOf(options, this.#study, this.#broadcast);
    let over = false;
    try {
      for (let number = 1;; number++) {
        const trial = await this.#withHand(company, nextEpisode);
        if (trial === null) break;
        yield episodeCard(await this.#study.view(), number, trial);
      }
      over = true;
      const result = await this.#hand!.study.close();
      this.#hand = null;
      return this.#keep(result);
    } finally {
      if (!over) await this.#leaveHand();
      await company.finish();
    }
  }

  /** Opens it to be driven step by step; one that is open so already comes back in a notebook. */
  async byHand(options: RunStudyOptions = {}): Promise<LabStudyByHand> {
    const company = await companyOf(options, this.#study, this.#broadcast);
    if (this.#broadcast !== null) {
      return await this.#withHand(company, (study) => Promise.resolve(study));
    }
    await this.#leaveHand();
    return await this.#study.openByHand(company);
  }

  /** Ends what runs, or is open by hand, to be taken up again; null: nothing was. */
  async stop(): Promise<StudyResult | null> {
    if (this.#running === null) return await this.#leaveHand();
    const { stop, ended } = this.#running;
    stop.abort();
    const result = await ended;
    return await this.#leaveHand() ?? (isResult(result) ? result : null);
  }

  #keep(result: StudyResult): StudyResult {
    if (!GOES_ON.has(result.stop)) this.#finished = result;
    return result;
  }

  /** Makes one call at a time, so that `stop` knows what to end. */
  async #call<T>(stop: AbortController, work: () => Promise<T>): Promise<T> {
    if (this.#running !== null) {
      throw new UsageError(
        `Cannot drive ${this.#study.study_id} as the call before is not done: await it, or stop()`,
      );
    }
    const doing = work();
    this.#running = { stop, ended: doing.catch(() => {}) };
    try {
      return await doing;
    } finally {
      this.#running = null;
    }
  }

  async #leaveHand(): Promise<StudyResult | null> {
    const left = this.#hand;
    this.#hand = null;
    return left === null ? null : await left.study.leave();
  }

  /** Opens the study where it is not open, and shows this company what happens. */
  async #withHand<T>(
    company: StudyCompany,
    work: (study: LabStudyByHand) => Promise<T>,
  ): Promise<T> {
    if (this.#hand !== null && !this.#hand.study.isOpen()) await this.#leaveHand();
    const stop = this.#hand?.stop ?? new AbortController();
    return await this.#call(stop, async () => {
      if (this.#hand === null) {
        const signal = AbortSignal.any([company.signal, stop.signal]);
        this.#hand = { study: await this.#study.openByHand({ ...company, signal }), stop };
      }
      this.#hand.study.watch(company);
      return await work(this.#hand.study);
    });
  }

  /** One such call, shown until it is done. */
  async #once<T>(
    options: RunStudyOptions,
    work: (study: LabStudyByHand) => Promise<T>,
  ): Promise<T> {
    const company = await companyOf(options, this.#study, this.#broadcast);
    try {
      return await this.#withHand(company, work);
    } finally {
      await company.finish();
    }
  }

  #proposalOf(study: LabStudyByHand, strategy: Strategy): Proposal {
    if (Array.isArray(strategy)) return study.recipe(strategy);
    const given = strategy as Proposal;
    const before = Array.isArray(given.resolved) ? this.#proposed.get(given.resolved) : undefined;
    if (before === wordsOf(given.actions)) return given;
    const { sampler } = given.origin ?? {};
    const edited = sampler === undefined ? "given by hand" : `edited: ${sampler} proposed it`;
    return study.recipe(given.actions, edited);
  }
}

/** A notebook's cells are not checked for types. */
function actionsOf(strategy: Strategy | null): readonly ActionInput[] {
  if (Array.isArray(strategy)) return strategy;
  const actions = strategy === null ? null : (strategy as Pick<Proposal, "actions">).actions;
  if (Array.isArray(actions)) return actions;
  throw new UsageError(
    strategy === null
      ? "Cannot run null: propose() has nothing left; give actions of your own"
      : "Cannot run that: give what propose() gives, or a list of { agent, method, params }",
  );
}

async function nextEpisode(study: LabStudyByHand): Promise<Trial | null> {
  const trial = await study.episode();
  return study.isOpen() ? trial : null; // cancelled in its midst: no episode's trial
}

function isResult(value: unknown): value is StudyResult {
  return typeof value === "object" && value !== null && "stop" in value && "message" in value;
}
