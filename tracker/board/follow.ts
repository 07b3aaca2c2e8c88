import type { JournalRecord } from "../../core/mod.ts";
import { metricWords, trialName } from "../../core/mod.ts";
import { readStudy, studyEnd } from "../store/shelf/study_reader.ts";
import { storePaths } from "../store/store_paths.ts";
import { studyOf } from "../store/journal/record_line.ts";
import { subjectOf } from "../store/rows/said_rows.ts";
import { recipeText } from "../show/view/trial_rows.ts";

/** A record of the journal as a page hears of it. */
export interface BoardEvent {
  /** Place behind the record in its study: where a page that was cut off goes on. */
  readonly position: number;
  readonly type: JournalRecord["type"];
  readonly at: string;
  readonly study_id: string;
  readonly trial_id: string | null;
  /** What happened, in a sentence; null: nothing that a person wants to hear of. */
  readonly sentence: string | null;
}

const LOOK_MS = 250;

/** What a record means to whoever watches. */
export function sentenceOf(record: JournalRecord): string | null {
  switch (record.type) {
    case "study_opened":
      return `study ${record.study_id} begins`;
    case "study_closed":
      return `the study ended: ${record.message}`;
    case "trial_opened":
      return `${trialName(record.number)} begins: ${recipeOf(record)}`;
    case "trial_closed": {
      const { number, state, failure } = record.trial;
      return `${trialName(number)} is ${state}${failure === null ? "" : `: ${failure.message}`}`;
    }
    case "alert":
      return `alert: ${record.condition.replaceAll("_", " ")}: ${record.evidence}`;
    case "note":
      return `note: ${record.text}`;
    case "artifact_written":
      return `${nameOf(record.trial_id)} has ${
        record.cached ? "again" : "written"
      } ${record.artifact.artifact_id}`;
    case "measured":
      return `${nameOf(record.trial_id)} is measured: ${
        [...new Set(record.measurements.map(({ metric }) => metricWords(metric)))].slice(0, 6).join(
          ", ",
        )
      }`;
    case "scored_again":
      return `${record.task} is scored again with ${record.scorer} ${record.scorer_version}`;
    default:
      return null;
  }
}

function recipeOf({ strategy }: Extract<JournalRecord, { type: "trial_opened" }>): string {
  return strategy === null ? "the baseline" : recipeText({ strategy, actions: [] });
}

const nameOf = (trial_id: string) => trial_id.slice(trial_id.lastIndexOf("/") + 1);

function eventOf(record: JournalRecord, position: number): BoardEvent {
  const { trial_id } = subjectOf(record);
  const [type, at] = [record.type, record.at];
  return { position, type, at, study_id: studyOf(record), trial_id, sentence: sentenceOf(record) };
}

/** A study that is watched, in its store. */
export interface Watched {
  readonly root: string;
  readonly study_id: string;
}

/** The records of a study from a place on, points left out, and where the next begins. */
export async function eventsFrom(
  { root, study_id }: Watched,
  from: number,
): Promise<{ events: BoardEvent[]; next: number }> {
  const events: BoardEvent[] = [];
  let next = from;
  const passed = (to: number) => {
    next = to;
  };
  const range = { from, without: "points", passed } as const;
  for await (const entry of readStudy(storePaths(root), study_id, range)) {
    if (entry.kind === "newer") break; // written by a newer pare: the page's queries say so
    next = entry.next;
    if (entry.kind === "record") events.push(eventOf(entry.record, entry.next));
  }
  return { events, next };
}

type Listener = (event: BoardEvent) => void;

interface Listened {
  readonly watched: Watched;
  readonly listeners: Set<Listener>;
  read: number;
}

/** Looks at studies for those who listen; looks at none while nobody does. */
export class JournalWatch {
  readonly #listened = new Map<string, Listened>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #looking = false;

  /** Tells of every record from now on until it is given back. */
  listen(watched: Watched, listener: Listener): Disposable {
    const key = JSON.stringify([watched.root, watched.study_id]);
    const here = this.#listened.get(key) ??
      { watched, listeners: new Set<Listener>(), read: endOf(watched) };
    this.#listened.set(key, here);
    here.listeners.add(listener);
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS);
    return {
      [Symbol.dispose]: () => {
        here.listeners.delete(listener);
        if (here.listeners.size === 0) this.#listened.delete(key);
        if (this.#listened.size === 0) this.close();
      },
    };
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      for (const one of this.#listened.values()) await this.#lookAt(one);
    } finally {
      this.#looking = false;
    }
  }

  async #lookAt(one: Listened): Promise<void> {
    const end = endOf(one.watched);
    if (end < one.read) one.read = end; // it was put back to what it was
    if (end <= one.read) return;
    const { events, next } = await eventsFrom(one.watched, one.read);
    one.read = next;
    for (const listener of one.listeners) events.forEach(listener);
  }
}

function endOf({ root, study_id }: Watched): number {
  return studyEnd(storePaths(root), study_id);
}
