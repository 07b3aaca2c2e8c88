import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../core/mod.ts";
import { readJournal } from "../store/journal_reader.ts";
import { pathComponent, storePaths } from "../store/store_paths.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { createMlflowClient } from "./client.ts";
import type { Connection } from "./connection.ts";
import { deliver, type Delivery, MAX_FILE_BYTES } from "./deliver.ts";
import { describe } from "./describe.ts";
import type { Effect } from "./effects.ts";
import type { Patience } from "./http.ts";
import { type KnownStudy, learn, newStudy, studyOf } from "./known_study.ts";
import { type Progress, readProgress, targetName, writeProgress } from "./mirror_progress.ts";
import { openRunBook } from "./run_book.ts";

/**
 * Effects carried out before the place is written down: what a kill sends twice at most. After a
 * failure the first step is one record, so that a server that fails often lets the mirror get on.
 */
const EFFECTS_A_STEP = 400;
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
  /** Told once of each thing that the server will not take. */
  readonly onRefused?: (sentence: string) => void;
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
  const refused = new Set<string>();
  /** Everything before this place is in `known`. */
  let folded = Infinity;
  let limit = EFFECTS_A_STEP;

  const delivery: Delivery = {
    client,
    book: openRunBook(client, experiment),
    max_file_bytes: input.max_file_bytes ?? MAX_FILE_BYTES,
    quiet: input.quiet ?? (() => Promise.resolve()),
    study: (study_id) => known.get(study_id)!, // its record was learnt before
    onRefused(sentence) {
      if (refused.has(sentence)) return;
      refused.add(sentence);
      input.onRefused?.(sentence);
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
    let reached = new Map<string, Progress>();
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
      if (before !== undefined && offset < before.offset) continue;
      for (const effect of describe(record, study, { root, checkpoints })) effects.push(effect);
      const report_due = record.type === "study_closed" || (before?.report_due ?? false);
      reached.set(study_id, { from: before?.from ?? offset, offset: next, report_due });
      if (effects.length < limit) continue;
      await step(effects, reached);
      effects = [];
      reached = new Map();
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
