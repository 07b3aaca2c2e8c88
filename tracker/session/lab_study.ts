import {
  type ActionInput,
  checkRecipe,
  type Facts,
  type JournalRecord,
  kindOf,
  type RunRequest,
  type Spec,
  type StudyResult,
  UsageError,
} from "../../core/mod.ts";
import type { WriteReportOptions } from "../exchange/publish/write_report.ts";
import type { StudyOutputs } from "../show/reports_of_study.ts";
import type { StudyView } from "../show/view/study_view.ts";
import { viewStudy } from "../show/view/view_study.ts";
import { importScores } from "./layer_scores.ts";
import { type SessionInput, startStudy, type StudyCompany } from "./start_study.ts";
import { type LabStudyByHand, openLabStudyByHand } from "./study_by_hand.ts";
import { type CachesOptions, type MeasuredCaches, studyCaches } from "./study_caches.ts";
import { type Mixed, type MixOptions, studyMix } from "./study_mix.ts";
import {
  type LayerSensitivity,
  type SensitivityOptions,
  studySensitivity,
} from "./study_sensitivity.ts";
import { writeReportOf } from "./write_report.ts";

/** A study of a lab whose facts are known: what can be done with it. */
export class LabStudy {
  readonly study_id: string;
  readonly request: RunRequest;
  readonly facts: Facts;
  readonly spec: Spec;
  readonly #input: SessionInput;
  readonly #now: () => Promise<SessionInput>;

  /** `now`: what work is done with, where that may have been closed and opened again. */
  constructor(input: SessionInput, now = () => Promise.resolve(input)) {
    ({
      study_id: this.study_id,
      request: this.request,
      facts: this.facts,
      spec: this.spec,
    } = input);
    this.#input = input;
    this.#now = now;
  }

  /** Its journal so far; empty: it has not begun. */
  async records(): Promise<readonly JournalRecord[]> {
    return await (await this.#input.store.current())?.journalOf(this.study_id) ?? [];
  }

  /** Everything known of it so far, from the journal. */
  async view(): Promise<StudyView> {
    return await viewStudy(await this.#input.store.current(), this.study_id);
  }

  /** Writes its report, of the view at hand where there is one, and gives its files. */
  async report(options?: WriteReportOptions, view?: StudyView): Promise<StudyOutputs> {
    const { store, tools: { home } } = this.#input;
    return await writeReportOf({ store, home }, view ?? await this.view(), options);
  }

  /** Refuses a recipe that is none, before anything is opened. */
  checkRecipe(actions: readonly ActionInput[]): void {
    this.#requireByHand();
    const { methods } = this.#input.tools.registry;
    checkRecipe(actions, { methods, facts: this.facts });
  }

  /** The study from its start to its end as its kind drives it; a lab that is closed cancels it. */
  async run(company: StudyCompany): Promise<StudyResult> {
    const session = await this.#now();
    const stop = new AbortController();
    const ended = Promise.withResolvers<void>();
    const end = () => {
      stop.abort();
      return ended.promise;
    };
    const inUse = await session.store.use({ study_id: session.study_id, end });
    try {
      const signal = AbortSignal.any([company.signal, stop.signal]);
      const started = await startStudy(session, inUse, { ...company, signal });
      let finished = false;
      try {
        const result = await kindOf(session.request).drive(started.input, started.ports);
        finished = true;
        return result;
      } finally {
        await started.end(finished);
      }
    } finally {
      ended.resolve();
    }
  }

  /** Opens it, or takes it up, to be driven step by step. */
  async openByHand(company: StudyCompany): Promise<LabStudyByHand> {
    this.#requireByHand();
    return await openLabStudyByHand(await this.#now(), company);
  }

  /** What each format would cost each layer. */
  async sensitivity(options?: SensitivityOptions): Promise<LayerSensitivity[]> {
    return await studySensitivity(await this.#now(), options);
  }

  /** What another program's files say of that. */
  async importScores(files: readonly string[]): Promise<LayerSensitivity[]> {
    return await importScores(await this.#now(), files);
  }

  /** Speed and bytes of a runtime's cache under several settings. */
  async caches(options?: CachesOptions): Promise<MeasuredCaches> {
    return await studyCaches(await this.#now(), options);
  }

  /** The best mix of kept layers under a budget. */
  async mix(options: MixOptions): Promise<Mixed> {
    return await studyMix(await this.#now(), options);
  }

  #requireByHand(): void {
    const { not_by_hand } = kindOf(this.request).needs;
    if (not_by_hand === null) return;
    throw new UsageError(`Cannot drive ${this.study_id} by hand as ${not_by_hand}`);
  }
}
