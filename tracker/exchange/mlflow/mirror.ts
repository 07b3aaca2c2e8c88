import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { placeRecords } from "../../artifacts/artifact_places.ts";
import { readStudy } from "../../store/shelf/study_reader.ts";
import type { Entry } from "../../store/journal/record_line.ts";
import { pathComponent, type StorePaths, storePaths } from "../../store/store_paths.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { createMlflowClient } from "./client/client.ts";
import type { Connection } from "./client/connection.ts";
import { deliver, type Delivery, MAX_FILE_BYTES } from "./deliver.ts";
import { describe, learnNames } from "./describe/describe.ts";
import type { Effect } from "./describe/effects.ts";
import type { Patience } from "./client/http.ts";
import { type KnownStudy, learn, newStudy, studyOf } from "./describe/known_study.ts";
import { LIMITS } from "./client/server_limits.ts";
import { type Progress, readProgress, targetName, writeProgress } from "./mirror_progress.ts";
import { type Clash, clashSentence } from "./describe/names.ts";
import { openRunBook } from "./run_book.ts";

/**
 * Effects carried out before the place is written down: what a kill sends twice at most, and what is
 * held at once. After a failure the first step is one record or one request of points, so that a
 * server that fails often lets the mirror get on.
 */
const EFFECTS_A_STEP = 400;
/** Points and characters of text that count as much as an effect: 10,000 and 16 MB a step. */
const POINTS_AN_EFFECT = 25;
const TEXT_AN_EFFECT = 40_000;
const REPORT = [
  ...["report.html", "report.md", "pareto.svg", "pareto.png", "results.json"],
  ...["handoff.json", "handoff.html", "stages.svg"], // of a staged run
];

/** What a mirror reads and where it writes. */
export interface MirrorInput {
  /** The store's folder. */
  readonly root: string;
  /** Folder that holds the studies' reports, each in one of its own. */
  readonly reports: string;
  readonly connection: Connection;
  readonly experiment: string;
  readonly checkpoints: Checkpoints;
  readonly max_file_bytes?: number;
  readonly patience?: Patience;
  /** Told once of each thing that goes there otherwise than a reader expects, or not at all. */
  readonly onSaid?: (sentence: string) => void;
  /** Awaited between steps and parts of files: keeps the mirror quiet while something is timed. */
  readonly quiet?: () => Promise<void>;
}

/** Carries studies from their journals to an MLflow server, each record's effects once. */
export interface Mirror {
  /** Takes a study in; `from` is where its first record will begin, null: somewhere before. */
  follow(study_id: string, from: number | null): void;
  /** Mirrors what stands before these places of each study; throws where it cannot go on now. */
  pass(to: Readonly<Record<string, number>>): Promise<void>;
}

/** How much of a step some effects are: one each, and more where they hold much. */
function weightOf(effects: readonly Effect[]): number {
  return effects.reduce((sum, effect) => {
    if (effect.kind === "text") return sum + 1 + effect.text.length / TEXT_AN_EFFECT;
    if (effect.kind !== "log") return sum + 1;
    return sum + 1 + (effect.data.metrics?.length ?? 0) / POINTS_AN_EFFECT;
  }, 0);
}

/**
 * Every place is written down after its effects are on the server, and doing an effect again leaves
 * what doing it once leaves: being killed, or a server that dies half way, doubles and loses nothing.
 */
export function openMirror(input: MirrorInput): Mirror {
  return new OpenMirror(input);
}

/** What is sent at once, and how far each study is mirrored with it. */
class Step {
  readonly effects: Effect[] = [];
  readonly reached = new Map<string, Progress>();
  weight = 0;

  add(effects: readonly Effect[]): void {
    for (const effect of effects) this.effects.push(effect);
    this.weight += weightOf(effects);
  }
}

type RecordEntry = Extract<Entry, { kind: "record" }>;

class OpenMirror implements Mirror {
  readonly #input: MirrorInput;
  readonly #paths: StorePaths;
  readonly #target: string;
  readonly #progress = new Map<string, Progress>();
  readonly #delivery: Delivery;
  readonly #known = new Map<string, KnownStudy>();
  readonly #said = new Set<string>();
  /** Of each study that is followed: everything before this place is in `known`. */
  readonly #folded = new Map<string, number>();
  #limit = EFFECTS_A_STEP;

  constructor(input: MirrorInput) {
    const { root, connection, experiment } = input;
    const client = createMlflowClient(connection, input.patience);
    this.#input = input;
    this.#paths = storePaths(root);
    this.#target = targetName(connection.shown, experiment);
    this.#delivery = {
      client,
      book: openRunBook(client, experiment),
      max_file_bytes: input.max_file_bytes ?? MAX_FILE_BYTES,
      quiet: input.quiet ?? (() => Promise.resolve()),
      study: (study_id) => this.#known.get(study_id)!, // its record was learnt before
      onSaid: (sentence) => this.#say(sentence),
    };
  }

  follow(study_id: string, from: number | null): void {
    if (this.#folded.has(study_id)) return;
    const progress = readProgress(this.#input.root, this.#target, study_id);
    if (progress !== undefined) this.#progress.set(study_id, progress);
    this.#folded.set(study_id, progress?.from ?? from ?? 0);
  }

  async pass(to: Readonly<Record<string, number>>): Promise<void> {
    try {
      const step = { now: new Step() };
      for (const study_id of this.#folded.keys()) {
        await this.#read(study_id, to[study_id] ?? 0, step);
      }
      await this.#send(step.now);
      await this.#sendReports();
    } catch (error) {
      this.#limit = 1;
      this.#forget(); // what was learnt ahead of the place that is written down is read again
      throw error;
    }
  }

  #say(sentence: string): void {
    if (this.#said.has(sentence)) return;
    this.#said.add(sentence);
    this.#input.onSaid?.(sentence);
  }

  #forget(): void {
    this.#known.clear();
    for (const id of this.#folded.keys()) this.#folded.set(id, this.#progress.get(id)?.from ?? 0);
  }

  async #send({ effects, reached }: Pick<Step, "effects" | "reached">): Promise<void> {
    if (reached.size === 0) return;
    await this.#delivery.quiet();
    await deliver(this.#delivery, effects);
    for (const [study_id, place] of reached) {
      this.#progress.set(study_id, place);
      writeProgress(this.#input.root, this.#target, study_id, place);
    }
    this.#limit = Math.min(4 * this.#limit, EFFECTS_A_STEP);
  }

  /** Reports are written after the record that closes a study. */
  async #sendReports(): Promise<void> {
    for (const study_id of this.#folded.keys()) {
      const place = this.#progress.get(study_id);
      const folder = join(this.#input.reports, pathComponent(study_id));
      if (place?.report_due !== true || !existsSync(join(folder, REPORT[0]!))) continue;
      const to = { study_id, trial_id: null };
      // A model that was only evaluated has no plot.
      const written = REPORT.filter((name) => existsSync(join(folder, name)));
      const effects = written.map((name): Effect => ({
        to,
        kind: "file",
        path: `report/${name}`,
        file: join(folder, name),
      }));
      const reached = new Map([[study_id, { ...place, report_due: false }]]);
      await this.#send({ effects, reached });
    }
  }

  async #read(study_id: string, to: number, step: { now: Step }): Promise<void> {
    const from = this.#folded.get(study_id) ?? 0;
    for await (const entry of readStudy(this.#paths, study_id, { from, to })) {
      if (entry.kind === "newer") {
        throw new UsageError(
          `Cannot mirror ${study_id} further as a newer pare wrote it (record version ${entry.version}); update pare`,
        );
      }
      this.#folded.set(study_id, entry.next);
      if (entry.kind !== "record" || studyOf(entry.record) !== study_id) continue;
      const [record] = await placeRecords([entry.record], this.#input.root);
      for (const _ of this.#describe({ ...entry, record: record! }, study_id, () => step.now)) {
        if (step.now.weight < this.#limit) continue;
        await this.#send(step.now);
        step.now = new Step();
      }
    }
  }

  /** Adds a record's effects to the step under way, part by part. */
  *#describe({ record, offset, next }: RecordEntry, study_id: string, current: () => Step) {
    const study = this.#known.get(study_id) ?? newStudy(study_id, record.at);
    this.#known.set(study_id, study);
    learn(study, record);
    const before = current().reached.get(study_id) ?? this.#progress.get(study_id);
    const onClash = (clash: Clash) => this.#say(clashSentence(study_id, clash));
    const describing = { root: this.#input.root, checkpoints: this.#input.checkpoints, onClash };
    if (before !== undefined && offset < before.offset) {
      learnNames(record, study, describing);
      return;
    }
    const place = { from: offset, report_due: false, ...before };
    const from = before?.offset === offset ? before.points : 0;
    const most = () => Math.max(LIMITS.metrics, this.#limit * POINTS_AN_EFFECT);
    for (const { effects, points } of describe(record, study, describing, { from, most })) {
      const step = current();
      step.add(effects);
      const report_due = place.report_due || (points === null && record.type === "study_closed");
      step.reached.set(
        study_id,
        points === null
          ? { ...place, offset: next, points: 0, report_due }
          : { ...place, offset, points, report_due },
      );
      yield;
    }
  }
}
