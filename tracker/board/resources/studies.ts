import type { Value } from "../../store/query/result.ts";
import type { Store } from "../../store/store.ts";
import { runOwners } from "../../store/shelf/writers.ts";
import { judgeNotes } from "../../show/judging/judged_figures.ts";
import { type Answers, type BoardStores, oneRow } from "../board_stores.ts";
import { judgedOf } from "./judged.ts";

/** How a study stands. */
export type StudyState = "waiting" | "starting" | "running" | "interrupted" | "ended";

export interface StudyLine {
  readonly study_id: string;
  /** Of run; null: of another tracker. */
  readonly kind: string | null;
  readonly store: string;
  readonly model_name: string;
  readonly dataset: string;
  readonly opened_at: Date | null;
  readonly trials: number;
  readonly state: StudyState;
  /** Why it ended; null: it did not yet. */
  readonly stop: string | null;
  /** pare, or the tracker that it was imported from. */
  readonly source: string;
}

export type Row = Record<string, Value>;

/** Studies that somebody writes now and that have no end yet: an end may be noted, or reproduced. */
const UNENDED = "SELECT study_id FROM studies WHERE stop IS NULL";

/** The studies that run. */
async function runningStudies(store: Store): Promise<Set<string>> {
  const written = new Set(runOwners(store.paths).map(({ study_id }) => study_id));
  if (written.size === 0) return new Set();
  const unended = (await store.ask(UNENDED)).map((row) => String(row["study_id"]));
  return new Set(unended.filter((study_id) => written.has(study_id)));
}

const IMPORTED = `SELECT study_id, any_value(study_name) AS study_name, any_value(source) AS source,
  count(*) AS runs FROM imported_runs GROUP BY study_id ORDER BY min(imported_at), study_id`;

async function linesOf(store: Store): Promise<StudyLine[]> {
  const [own, running, imported] = [
    await store.studies(),
    await runningStudies(store),
    await store.ask(IMPORTED),
  ];
  const at = store.paths.root;
  return [
    ...own.map(({ stop, ...study }): StudyLine => ({
      ...study,
      ...{ stop, store: at, source: "pare" },
      state: stop !== null ? "ended" : running.has(study.study_id) ? "running" : "interrupted",
    })),
    ...imported.map((row): StudyLine => ({
      ...{ study_id: String(row["study_id"]), kind: null, store: at },
      model_name: String(row["study_name"]),
      ...{ dataset: "", opened_at: null, trials: Number(row["runs"]), state: "ended", stop: null },
      source: String(row["source"]),
    })),
  ];
}

/** Every study of every store, the newest first. */
export async function listStudies(stores: BoardStores): Promise<Answers<StudyLine>> {
  const { answers: lines, refused } = await stores.each(linesOf);
  const opened = ({ opened_at }: StudyLine) => opened_at?.getTime() ?? 0;
  return { answers: lines.flat().reverse().sort((a, b) => opened(b) - opened(a)), refused };
}

/** Of a study's notes, its own before those on its trials, each the newest: a page stays small. */
const MOST_NOTES = 200;

/** All that the head of a study's page says, in one statement: each opens the database anew. */
const STUDY = `
SELECT s.study_id, s.kind, s.model_name, s.dataset, s.opened_at, s.closed_at, s.stop, s.message,
  s.recommended, s.seed, s.command, s.device_name, s.cores, s.runtime, s.max_accuracy_drop,
  s.weight_accuracy, s.weight_latency, s.weight_memory, s.weight_energy, s.weight_size, s.weight_distance, s.fp16_bytes,
  s.original_bytes, s.front_note, s.front_objectives, s.primary_objective, s.warnings,
  (SELECT count(*) FROM trials t WHERE t.study_id = s.study_id) AS trials,
  (SELECT count(*) FROM trials t WHERE t.study_id = s.study_id AND t.state = 'completed')
    AS completed,
  (SELECT count(*) FROM failures f WHERE f.study_id = s.study_id) AS failed,
  (SELECT list(x ORDER BY x.position DESC) FROM (
    SELECT trial_id, position, happened_at, condition, evidence, action, outcome
    FROM alerts a WHERE a.study_id = s.study_id ORDER BY position DESC LIMIT 50) x) AS alerts,
  (SELECT list(x ORDER BY x.position) FROM (
    SELECT trial_id, position, written_at, text FROM notes n WHERE n.study_id = s.study_id
    ORDER BY trial_id IS NOT NULL, position DESC LIMIT ${MOST_NOTES}) x) AS notes,
  (SELECT count(*) FROM notes n WHERE n.study_id = s.study_id) AS notes_kept,
  (SELECT list(x) FROM (SELECT trial_id, methods, state, phase, reason, what_to_do
    FROM failures f WHERE f.study_id = s.study_id LIMIT 50) x) AS failures,
  (SELECT list(x ORDER BY x.position) FROM (
    SELECT task, scorer, scorer_version, beside_because, strftime(scored_at, '%Y-%m-%d') AS at, position
    FROM scored_again g WHERE g.study_id = s.study_id) x) AS scored_again,
  EXISTS (SELECT 1 FROM samples x WHERE x.study_id = s.study_id AND x.context_tokens IS NOT NULL)
    AS reads_contexts,
  (SELECT max(position) FROM events e WHERE e.study_id = s.study_id) AS position
FROM studies s WHERE s.study_id = $study`;

/** One study: what was asked, how it stands, alerts, notes, and why trials ended. */
export async function readStudy(stores: BoardStores, study_id: string): Promise<Row> {
  const store = await stores.of(study_id);
  const row = await oneRow(store, STUDY, { study: study_id });
  const running = row["stop"] === null && (await runningStudies(store)).has(study_id);
  const state: StudyState = row["stop"] !== null ? "ended" : running ? "running" : "interrupted";
  const lists = Object.fromEntries(
    ["alerts", "notes", "failures", "scored_again"].map((name) => [name, row[name] ?? []]),
  );
  const judged = judgeNotes(await judgedOf(store, study_id));
  return { ...row, ...lists, judged, state, store: store.paths.root };
}
