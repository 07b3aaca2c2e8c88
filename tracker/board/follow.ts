import type { JournalRecord } from "../../core/mod.ts";
import { metricWords, trialName } from "../../core/mod.ts";
import { journalSize } from "../store/index/sink.ts";
import { readJournal } from "../store/journal/reader.ts";
import { studyOf } from "../store/journal/record_line.ts";
import { subjectOf } from "../store/rows/said_rows.ts";
import { recipeText } from "../show/view/trial_rows.ts";

/** A record of the journal as a page hears of it. */
export interface BoardEvent {
  /** Byte of the journal behind the record: where a page that was cut off goes on. */
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
    default:
      return null;
  }
}

function recipeOf({ strategy }: Extract<JournalRecord, { type: "trial_opened" }>): string {
  return strategy === null ? "the baseline" : recipeText({ strategy, actions: [] });
}

const nameOf = (trial_id: string) => trial_id.slice(trial_id.lastIndexOf("/") + 1);

export function eventOf(record: JournalRecord, position: number): BoardEvent {
  const { trial_id } = subjectOf(record);
  const [type, at] = [record.type, record.at];
  return { position, type, at, study_id: studyOf(record), trial_id, sentence: sentenceOf(record) };
}

/** The records from a byte of the journal on, points left out, and where the next begins. */
export async function eventsFrom(
  journal: string,
  from: number,
): Promise<{ events: BoardEvent[]; next: number }> {
  const events: BoardEvent[] = [];
  let next = from;
  const passed = (to: number) => {
    next = to;
  };
  for await (const entry of readJournal(journal, { from, without: "points", passed })) {
    if (entry.kind === "newer") break; // written by a newer pare: the page's queries say so
    next = entry.next;
    if (entry.kind === "record") events.push(eventOf(entry.record, entry.next));
  }
  return { events, next };
}

type Listener = (event: BoardEvent) => void;

/** Looks at journals for those who listen; looks at none while nobody does. */
export class JournalWatch {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #read = new Map<string, number>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #looking = false;

  /** Tells of every record from now on until it is given back. */
  listen(journal: string, listener: Listener): Disposable {
    const here = this.#listeners.get(journal) ?? new Set();
    this.#listeners.set(journal, here.add(listener));
    if (here.size === 1) this.#read.set(journal, journalSize(journal));
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS);
    return {
      [Symbol.dispose]: () => {
        here.delete(listener);
        if (here.size === 0) this.#listeners.delete(journal);
        if (this.#listeners.size === 0) this.close();
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
      for (const journal of this.#listeners.keys()) await this.#lookAt(journal);
    } finally {
      this.#looking = false;
    }
  }

  async #lookAt(journal: string): Promise<void> {
    const from = this.#read.get(journal) ?? 0;
    const size = journalSize(journal);
    if (size < from) this.#read.set(journal, size); // its torn end was cut off
    if (size <= from) return;
    const { events, next } = await eventsFrom(journal, from);
    this.#read.set(journal, next);
    for (const listener of this.#listeners.get(journal) ?? []) events.forEach(listener);
  }
}
