import {
  type ActionInput,
  type Facts,
  type JournalRecord,
  type Proposal,
  type Spec,
  type StudyRequest,
  type StudyResult,
  type Trial,
  UsageError,
} from "../core/mod.ts";
import { type EpisodeCard, episodeCard, type TrialCard, trialCardOf } from "./notebook/cards.ts";
import { liveStudy } from "./notebook/live_study.ts";
import type { LayerSensitivity, SensitivityOptions } from "./sensitivity/study_sensitivity.ts";
import type { StudyCompany } from "./start_study.ts";
import type { LabStudyByHand } from "./study_by_hand.ts";
import type { RunStudyOptions } from "./study_session.ts";
import { silentAsk } from "./terminal/ask.ts";
import { type Broadcast, kernelBroadcast } from "./terminal/kernel.ts";
import type { StudyView } from "./view/study_view.ts";

/** One recipe: what `propose` gives, edited or not, or a list of actions of your own. */
export type Strategy = Pick<Proposal, "actions"> | readonly ActionInput[];

/** What a study is driven through. */
export interface StudyDoors {
  readonly study_id: string;
  readonly request: StudyRequest;
  readonly facts: Facts;
  readonly spec: Spec;
  /** The coordinator's loop to its end. */
  readonly runAll: (company: StudyCompany) => Promise<StudyResult>;
  readonly openByHand: (company: StudyCompany) => Promise<LabStudyByHand>;
  readonly view: () => Promise<StudyView>;
  /** What each format would cost each layer. */
  readonly sensitivity: (options?: SensitivityOptions) => Promise<LayerSensitivity[]>;
  /** Its journal so far; empty: it has not begun. */
  readonly records: () => Promise<readonly JournalRecord[]>;
}

/** Ends after which a study goes on when it is run again. */
const GOES_ON: ReadonlySet<string> = new Set(["cancelled", "by_hand", "failed"]);

/** How a study that is open is driven: whole, by episodes, or trial by trial. */
export interface StudyDriver {
  runAll(options?: RunStudyOptions): Promise<StudyResult>;
  runOne(strategy: Strategy, options?: RunStudyOptions): Promise<TrialCard>;
  propose(options?: RunStudyOptions): Promise<Proposal | null>;
  episodes(options?: RunStudyOptions): AsyncGenerator<EpisodeCard, StudyResult>;
  /** Opens it to be driven step by step; one that is open so already comes back in a notebook. */
  byHand(options?: RunStudyOptions): Promise<LabStudyByHand>;
  /** Ends what runs, or is open by hand, to be taken up again; null: nothing was. */
  stop(): Promise<StudyResult | null>;
}

/** Who is told and asked; in a notebook nobody else being told, the cell shows the study. */
async function companyOf(
  { ask, signal, onEvent }: RunStudyOptions,
  doors: StudyDoors,
  broadcast: Broadcast | null,
): Promise<StudyCompany & { readonly finish: () => Promise<void> }> {
  const company = {
    ask: ask ?? silentAsk(), // "Run all" waits for nobody
    signal: signal ?? new AbortController().signal,
  };
  if (onEvent !== undefined || broadcast === null) {
    return { ...company, onEvent: onEvent ?? (() => {}), finish: () => Promise.resolve() };
  }
  const { request, view } = doors;
  const live = liveStudy({ request, view, before: await doors.records() }, broadcast);
  return { ...company, ...live };
}

/** Actions in one text: whether a proposal was edited. */
function wordsOf(actions: unknown): string {
  return JSON.stringify(actions);
}

/** The driver of one session's study. */
export function driveStudy(
  doors: StudyDoors,
  broadcast: Broadcast | null = kernelBroadcast(),
): StudyDriver {
  let finished: StudyResult | null = null;
  let hand: { study: LabStudyByHand; stop: AbortController } | null = null;
  /** What runs now: how to end it, and its end. */
  let running: { stop: AbortController; ended: Promise<unknown> } | null = null;
  /** What the samplers proposed, as they did: an edited one is the user's own. */
  const proposed = new WeakMap<object, string>();

  /** Makes one call at a time, so that `stop` knows what to end. */
  const call = async <T>(stop: AbortController, work: () => Promise<T>): Promise<T> => {
    if (running !== null) {
      throw new UsageError(
        `Cannot drive ${doors.study_id} as the call before is not done: await it, or stop()`,
      );
    }
    const doing = work();
    running = { stop, ended: doing.catch(() => {}) };
    try {
      return await doing;
    } finally {
      running = null;
    }
  };

  const leaveHand = async (): Promise<StudyResult | null> => {
    const left = hand;
    hand = null;
    return left === null ? null : await left.study.leave();
  };

  /** Opens the study where it is not open, and shows this company what happens. */
  const withHand = async <T>(
    company: StudyCompany,
    work: (study: LabStudyByHand) => Promise<T>,
  ): Promise<T> => {
    if (hand !== null && !hand.study.isOpen()) await leaveHand();
    const stop = hand?.stop ?? new AbortController();
    return await call(stop, async () => {
      if (hand === null) {
        const signal = AbortSignal.any([company.signal, stop.signal]);
        hand = { study: await doors.openByHand({ ...company, signal }), stop };
      }
      hand.study.watch(company);
      return await work(hand.study);
    });
  };

  /** One such call, shown until it is done. */
  const once = async <T>(
    options: RunStudyOptions,
    work: (study: LabStudyByHand) => Promise<T>,
  ): Promise<T> => {
    const company = await companyOf(options, doors, broadcast);
    try {
      return await withHand(company, work);
    } finally {
      await company.finish();
    }
  };

  const proposalOf = (study: LabStudyByHand, strategy: Strategy): Proposal => {
    if (Array.isArray(strategy)) return study.recipe(strategy);
    const given = strategy as Proposal | null;
    if (given === null || !Array.isArray(given?.actions)) {
      throw new UsageError(
        given === null
          ? "Cannot run null: propose() has nothing left; give actions of your own"
          : "Cannot run that: give what propose() gives, or a list of { agent, method, params }",
      );
    }
    const before = Array.isArray(given.resolved) ? proposed.get(given.resolved) : undefined;
    if (before === wordsOf(given.actions)) return given;
    const { sampler } = given.origin ?? {};
    const edited = sampler === undefined ? "given by hand" : `edited: ${sampler} proposed it`;
    return study.recipe(given.actions, edited);
  };

  const nextEpisode = async (study: LabStudyByHand): Promise<Trial | null> => {
    const trial = await study.episode();
    return study.isOpen() ? trial : null; // cancelled in its midst: no episode's trial
  };

  return {
    async runAll(options = {}) {
      if (finished !== null) return finished;
      await leaveHand();
      const company = await companyOf(options, doors, broadcast);
      const stop = new AbortController();
      const signal = AbortSignal.any([company.signal, stop.signal]);
      try {
        const result = await call(stop, () => doors.runAll({ ...company, signal }));
        if (!GOES_ON.has(result.stop)) finished = result;
        return result;
      } finally {
        await company.finish();
      }
    },
    runOne: (strategy, options = {}) =>
      once(options, async (study) => {
        const proposal = proposalOf(study, strategy);
        await study.baseline();
        const trial = await study.run(proposal);
        return trialCardOf(await doors.view(), trial);
      }),
    propose: (options = {}) =>
      once(options, async (study) => {
        await study.baseline();
        const proposal = await study.propose();
        if (proposal !== null) proposed.set(proposal.resolved, wordsOf(proposal.actions));
        return proposal;
      }),
    async *episodes(options = {}) {
      if (finished !== null) return finished;
      const company = await companyOf(options, doors, broadcast);
      let over = false;
      try {
        for (let number = 1;; number++) {
          const trial = await withHand(company, nextEpisode);
          if (trial === null) break;
          yield episodeCard(await doors.view(), number, trial);
        }
        over = true;
        const result = await hand!.study.close();
        hand = null;
        if (!GOES_ON.has(result.stop)) finished = result;
        return result;
      } finally {
        if (!over) await leaveHand();
        await company.finish();
      }
    },
    async byHand(options = {}) {
      if (broadcast === null) {
        await leaveHand();
        return await doors.openByHand(await companyOf(options, doors, null));
      }
      const company = await companyOf(options, doors, broadcast);
      return await withHand(company, (study) => Promise.resolve(study));
    },
    async stop() {
      const { stop, ended } = running ?? {};
      if (stop === undefined) return await leaveHand();
      stop.abort();
      const result = await ended;
      return await leaveHand() ?? (isResult(result) ? result : null);
    },
  };
}

function isResult(value: unknown): value is StudyResult {
  return typeof value === "object" && value !== null && "stop" in value && "message" in value;
}
