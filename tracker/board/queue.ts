import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkStudy } from "../lab/check_study.ts";
import { studyName } from "../lab/find_study.ts";
import { storePaths } from "../store/store_paths.ts";
import { runOwners } from "../store/shelf/writers.ts";
import { checkSubmitted } from "./check_submitted.ts";
import { Refused } from "./refused.ts";

/** A study that was submitted to this board. */
export interface Submission {
  readonly study_id: string;
  readonly kind: string;
  readonly store: string;
  readonly model_name: string;
  readonly dataset: string;
  /** Its place in line, from 1; 0: it is not waiting. */
  position: number;
  state: "waiting" | "starting" | "ended";
  /** What its process said last. */
  said: string[];
  exit_code: number | null;
}

/** What ended a study that recorded nothing, in the words of those that did; null: nothing yet. */
export function endOf({ state, exit_code }: Submission): "cancelled" | "failed" | null {
  if (state !== "ended") return null;
  return exit_code === null || exit_code === 130 ? "cancelled" : "failed";
}

/** The same in words, with the exit code. */
export function endText(one: Submission): string {
  const code = one.exit_code === null ? "" : ` with exit code ${one.exit_code}`;
  return `${endOf(one) === "cancelled" ? "stopped" : "failed"}${code}`;
}

/** Starts the process of a study; resolves with its exit code. */
export type StartStudy = (
  document: string,
  store: string,
  say: (line: string) => void,
) => { done: Promise<number>; stop(): void };

const LINES_KEPT = 40;
const MOST_WAITING = 100;
/** How often the line is looked at while another process writes the store. */
const LOOK_MS = 1_000;

interface Running {
  readonly submission: Submission;
  stop(): void;
}

/** Studies submitted to a board: one runs at a time, the others wait in line. */
export class StudyQueue implements AsyncDisposable {
  readonly #known = new Map<string, Submission>();
  readonly #line: { submission: Submission; document: string }[] = [];
  #running: (Running & { done: Promise<void> }) | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;

  constructor(
    private readonly studies: string,
    private readonly start: StartStudy,
  ) {}

  get(study_id: string): Submission | undefined {
    return this.#known.get(study_id);
  }

  /**
   * Those that wait or run, in the order of the line, and those that ended, the newest last: one that
   * ended before it recorded anything is told of nowhere else.
   */
  all(): Submission[] {
    return [...this.#known.values()];
  }

  /** Checks a study document as `pare run` does and puts it in line. */
  async submit(given: unknown, store: string): Promise<Submission> {
    const request = checkStudy(given, "study");
    await checkSubmitted(request);
    if (this.#line.length >= MOST_WAITING) {
      throw new Refused(409, `Cannot take one more study: ${MOST_WAITING} wait in line already`);
    }
    const study_id = this.#freeName(studyName(request, new Date()));
    const submission: Submission = {
      ...{ study_id, kind: request.kind, store },
      ...{ model_name: request.model_name, dataset: request.dataset },
      ...{ position: 0, state: "waiting", said: [], exit_code: null },
    };
    this.#known.set(study_id, submission);
    const folder = join(this.studies, study_id);
    await mkdir(folder, { recursive: true });
    const document = join(folder, "study.json");
    // What was given, not what defaults made of it: the study infers what is not said.
    await writeFile(document, JSON.stringify(given, null, 2) + "\n");
    this.#line.push({ submission, document });
    this.#goOn();
    return submission;
  }

  /** Takes a study out of the line, or ends it as Ctrl-C does. */
  stop(study_id: string): "removed" | "stopping" | "not here" {
    const at = this.#line.findIndex(({ submission }) => submission.study_id === study_id);
    if (at >= 0) {
      const [taken] = this.#line.splice(at, 1);
      taken!.submission.state = "ended";
      taken!.submission.position = 0;
      taken!.submission.said.push("taken out of the line before it began");
      this.#number();
      return "removed";
    }
    if (this.#running?.submission.study_id !== study_id) return "not here";
    this.#running.stop();
    return "stopping";
  }

  #freeName(name: string): string {
    const taken = (one: string) => this.#known.has(one) || existsSync(join(this.studies, one));
    if (!taken(name)) return name;
    for (let n = 2;; n++) if (!taken(`${name}-${n}`)) return `${name}-${n}`;
  }

  #number(): void {
    this.#line.forEach(({ submission }, at) => submission.position = at + 1);
  }

  #goOn(): void {
    this.#number();
    const [next] = this.#line;
    if (this.#closed || this.#running !== null || next === undefined) return;
    if (runOwners(storePaths(next.submission.store)).length > 0) {
      // Two studies at once would time each other's work: the line is looked at again.
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.#goOn();
      }, LOOK_MS);
      return;
    }
    this.#line.shift();
    this.#number();
    this.#begin(next.submission, next.document);
  }

  #begin(submission: Submission, document: string): void {
    submission.state = "starting";
    submission.position = 0;
    const { done, stop } = this.start(document, submission.store, (line) => {
      submission.said = [...submission.said, line].slice(-LINES_KEPT);
    });
    let stopped = false;
    const ended = done.then((code) => code, () => 1).then((code) => {
      submission.state = "ended";
      submission.exit_code = code;
      this.#running = null;
      this.#goOn();
    });
    const once = () => {
      if (!stopped) stop(); // a second SIGINT would end it at once, in the midst of a record
      stopped = true;
    };
    this.#running = { submission, stop: once, done: ended };
  }

  /** Ends the study that runs, cleanly; those in line are not begun. Gives the names of these. */
  async close(): Promise<string[]> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const left = this.#line.map(({ submission }) => submission.study_id);
    this.#running?.stop();
    await this.#running?.done;
    return left;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
