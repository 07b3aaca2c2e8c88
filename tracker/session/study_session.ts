import {
  type Facts,
  type Proposal,
  type RunRequest,
  type Spec,
  type StudyResult,
  UsageError,
} from "../../core/mod.ts";
import {
  type DrivenStudy,
  type RunStudyOptions,
  type Strategy,
  StudyDriver,
} from "./drive_study.ts";
import type { LabStudy } from "./lab_study.ts";
import {
  type EpisodeCard,
  proposalMedia,
  studyMedia,
  type TrialCard,
  trialCard,
} from "../show/notebook/cards.ts";
import { type Displayed, displayed } from "../show/notebook/display.ts";
import { rowsMedia } from "../show/notebook/table.ts";
import { frontOfView, type Rows, trialsOf } from "../show/notebook/trial_tables.ts";
import type { LabStudyByHand } from "./study_by_hand.ts";
import { DISPLAY, kernelBroadcast, type Shown } from "../ground/terminal/kernel.ts";
import type { CachesOptions, MeasuredCaches } from "./study_caches.ts";
import type { Mixed, MixOptions } from "./study_mix.ts";
import type { LayerSensitivity, SensitivityOptions } from "./study_sensitivity.ts";
import type { WriteReportOptions } from "../exchange/publish/write_report.ts";
import type { StudyOutputs } from "../show/reports_of_study.ts";
import type { StudyView } from "../show/view/study_view.ts";
import type { TrialFigures } from "../show/view/trial_figures.ts";

/**
 * One study: inspected, its spec inferred, ready to run or to go on. In a notebook it shows itself as
 * a card, and so does all that it gives. `propose`, `run` of one strategy and `episodes` hold the store
 * until `stop()`, `run()` to the end, or the end of the episodes.
 */
export interface StudySession extends Shown {
  readonly study_id: string;
  readonly request: RunRequest;
  readonly facts: Facts;
  readonly spec: Spec;
  /** Runs it to its end. One that has ended gives the same result at once. */
  run(options?: RunStudyOptions): Promise<Displayed<StudyResult>>;
  /** Runs one strategy, the baseline before it where that lacks; one that was run is not run again. */
  run(strategy: Strategy, options?: RunStudyOptions): Promise<TrialCard>;
  /** What the loop would run next; null: nothing is left. An edited one may be given to `run`. */
  propose(options?: RunStudyOptions): Promise<Displayed<Proposal> | null>;
  /**
   * Runs it episode by episode, by the rules of `run`. Leaving the loop early closes the study
   * cleanly; another loop, or `run`, goes on.
   *
   * ```ts
   * async function untilSmall(study: StudySession, bytes: number) {
   *   for await (const { trial } of study.episodes()) {
   *     if (Number(trial.size_bytes) <= bytes) return trial.trial_id;
   *   }
   *   return null;
   * }
   * console.assert(typeof untilSmall === "function");
   * ```
   */
  episodes(options?: RunStudyOptions): AsyncGenerator<EpisodeCard, StudyResult>;
  /** The members of the front, the best first, as flat rows. */
  front(): Promise<Rows<TrialFigures>>;
  /** Every trial so far as a flat row, in the order they were run. */
  trials(): Promise<Rows<TrialFigures>>;
  /** One trial, by its name `t02`, its number or its id. */
  trial(name: string | number): Promise<TrialCard>;
  /** Ends cleanly what runs or is open by hand; null: nothing was. */
  stop(): Promise<StudyResult | null>;
  /** Opens it, or takes it up, to be driven step by step; it has the store until it is closed. */
  byHand(options?: RunStudyOptions): Promise<LabStudyByHand>;
  /** What each format would cost each layer of the original, the layer alone in it. */
  sensitivity(options?: SensitivityOptions): Promise<Rows<LayerSensitivity>>;
  /** The same from files of AutoRound's AutoScheme or Model-Optimizer's auto_quantize. */
  importScores(...files: readonly string[]): Promise<Rows<LayerSensitivity>>;
  /** Speed and bytes of a runtime's cache under several settings, in turn with the full cache. */
  caches(options?: CachesOptions): Promise<Displayed<MeasuredCaches>>;
  /** The best mix of formats under a budget, weighed and run as a trial; null: it was not to run. */
  mix(options: MixOptions): Promise<Displayed<Mixed & { readonly trial: TrialCard | null }>>;
  /** Everything known of it so far, from the journal. */
  view(): Promise<StudyView>;
  /** Writes its report, of `seen` where that is at hand, and gives its files. */
  report(options?: WriteReportOptions, seen?: StudyView): Promise<StudyOutputs>;
}

/** What a session is of: a lab's study, driven and scored. */
type StudyWork =
  & DrivenStudy
  & Pick<LabStudy, "sensitivity" | "importScores" | "caches" | "mix" | "report">;

/** Makes the session of a study; `broadcast`: what a cell shows goes there. */
export function openSession(study: StudyWork, broadcast = kernelBroadcast()): StudySession {
  const { study_id, request, facts, spec } = study;
  const view = () => study.view();
  const driver = new StudyDriver(study, broadcast);
  const begun = async () => (await study.records()).length > 0;
  /** Rows of a study that has not begun: none. */
  const rows = async (of: (view: StudyView) => Rows<TrialFigures>) =>
    await begun() ? of(await view()) : displayed([], () => studyMedia(study, null));
  const run = async (first: Strategy | RunStudyOptions = {}, options: RunStudyOptions = {}) => {
    if (first === null || isStrategy(first)) return await driver.runOne(first, options);
    return await shownResult(await driver.runAll(first), view);
  };
  const session = {
    study_id,
    request,
    facts,
    spec,
    view,
    run: run as StudySession["run"], // which of its two forms the first argument tells
    async propose(options = {}) {
      const proposal = await driver.propose(options);
      return proposal === null ? null : displayed(proposal, () => proposalMedia(proposal));
    },
    episodes: (options) => driver.episodes(options),
    front: () => rows(frontOfView),
    trials: () => rows(trialsOf),
    async trial(name) {
      if (await begun()) return trialCard(await view(), name);
      throw new UsageError(`Cannot find ${name} as ${study_id} has no trial yet: run() it first`);
    },
    stop: () => driver.stop(),
    report: (options, seen) => study.report(options, seen),
    async sensitivity(options) {
      const layers = await study.sensitivity(options);
      return displayed(layers, () => rowsMedia(layers));
    },
    async importScores(...files) {
      const layers = await study.importScores(files);
      return displayed(layers, () => rowsMedia(layers));
    },
    async caches(options) {
      const measured = await study.caches(options);
      return displayed(measured, () => rowsMedia(measured.caches));
    },
    async mix({ run: runs = true, ...options }) {
      const mixed = await study.mix(options);
      const { signal, onEvent } = options;
      const told = { ...(signal && { signal }), ...(onEvent && { onEvent }) };
      const trial = runs ? await driver.runOne([mixed.action], told) : null;
      return displayed({ ...mixed, trial }, () => rowsMedia(mixed.mixes));
    },
    byHand: (options) => driver.byHand(options),
  } satisfies Omit<StudySession, typeof DISPLAY>;
  return displayed(session, async () => studyMedia(study, await begun() ? await view() : null));
}

function isStrategy(given: Strategy | RunStudyOptions): given is Strategy {
  return Array.isArray(given) || "actions" in given;
}

async function shownResult(result: StudyResult, view: () => Promise<StudyView>) {
  const seen = await view();
  return displayed(result, () => studyMedia(seen, seen));
}
