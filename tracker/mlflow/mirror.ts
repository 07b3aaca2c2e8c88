import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../core/mod.ts";
import { readJournal } from "../store/journal/reader.ts";
import { pathComponent, storePaths } from "../store/store_paths.ts";
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
const REPORT = ["report.html", "report.md", "pareto.svg", "pareto.png", "results.json"];

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

/** Carries studies from the journal to an MLflow server, each record's effects once. */
export interface Mirror {
  /** Takes a study in; `from` is where its first record will begin, null: somewhere before. */
  follow(study_id: string, from: number | null): void;
  /** Mirrors what stands before place `to` of the journal; throws where it cannot go on now. */
  pass(to: number): Promise<void>;
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
  const { root, connection, experiment, checkpoints } = input;
  const { journal } = storePaths(root);
  const target = targetName(connection.shown, experiment);
  const client = createMlflowClient(connection, input.patience);
  const progress = readProgress(root, target);
  const followed = new Set<string>();
  const known = new Map<string, KnownStudy>();
  const said = new Set<string>();
  /** Everything before this place is in `known`. */
  let folded = Infinity;
  let limit = EFFECTS_A_STEP;

  const delivery: Delivery = {
    client,
    book: openRunBook(client, experiment),
    max_file_bytes: input.max_file_bytes ?? MAX_FILE_BYTES,
    quiet: input.quiet ?? (() => Promise.resolve()),
    study: (study_id) => known.get(study_id)!, // its record was learnt before
    onSaid(sentence) {
      if (said.has(sentence)) return;
      said.add(sentence);
      input.onSaid?.(sentence);
    },
  };

  const forget = () => {
    known.clear();
    folded = Math.min(...[...followed].map((id) => progress.get(id)?.from ?? 0));
  };

  const step = async (effects: Effect[], reached: Map<string, Progress>) => {
    if (reached.size === 0) return;
    await delivery.quiet();
    await deliver(delivery, effects);
    for (const [study_id, place] of reached) progress.set(study_id, place);
    await writeProgress(root, target, progress);
    limit = Math.min(4 * limit, EFFECTS_A_STEP);
  };

  /** Reports are written after the record that closes a study. */
  const sendReports = async () => {
    for (const study_id of followed) {
      const place = progress.get(study_id);
      const folder = join(input.reports, pathComponent(study_id));
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
      await step(effects, new Map([[study_id, { ...place, report_due: false }]]));
    }
  };

  const read = async (to: number) => {
    let effects: Effect[] = [];
    let weight = 0;
    let reached = new Map<string, Progress>();
    const most = () => Math.max(LIMITS.metrics, limit * POINTS_AN_EFFECT);
    for await (const entry of readJournal(journal, { from: folded, to })) {
      if (entry.kind === "newer") {
        throw new UsageError(
          `Cannot mirror ${journal} further as a newer pare wrote it (record version ${entry.version}); update pare`,
        );
      }
      folded = entry.next;
      const study_id = entry.kind === "record" ? studyOf(entry.record) : null;
      if (entry.kind !== "record" || study_id === null || !followed.has(study_id)) continue;
      const { record, offset, next } = entry;
      const study = known.get(study_id) ?? newStudy(study_id, record.at);
      known.set(study_id, study);
      learn(study, record);
      const before = reached.get(study_id) ?? progress.get(study_id);
      const onClash = (clash: Clash) => delivery.onSaid(clashSentence(study_id, clash));
      const describing = { root, checkpoints, onClash };
      if (before !== undefined && offset < before.offset) {
        learnNames(record, study, describing);
        continue;
      }
      const place = { from: offset, report_due: false, ...before };
      const from = before?.offset === offset ? before.points : 0;
      for (const part of describe(record, study, describing, { from, most })) {
        for (const effect of part.effects) effects.push(effect);
        weight += weightOf(part.effects);
        const report_due = place.report_due ||
          (part.points === null && record.type === "study_closed");
        reached.set(
          study_id,
          part.points === null
            ? { ...place, offset: next, points: 0, report_due }
            : { ...place, offset, points: part.points, report_due },
        );
        if (weight < limit) continue;
        await step(effects, reached);
        effects = [];
        weight = 0;
        reached = new Map();
      }
    }
    await step(effects, reached);
  };

  return {
    follow(study_id, from) {
      if (followed.has(study_id)) return;
      followed.add(study_id);
      const start = progress.get(study_id)?.from ?? from ?? 0;
      if (start >= folded) return;
      known.clear();
      folded = start;
    },
    async pass(to) {
      try {
        await read(to);
        await sendReports();
      } catch (error) {
        limit = 1;
        forget(); // what was learnt ahead of the place that is written down is read again
        throw error;
      }
    },
  };
}
