import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkStudy } from "../lab/check_study.ts";
import { studyName } from "../lab/find_study.ts";
import { storePaths } from "../store/store_paths.ts";
import { runOwners } from "../store/shelf/writers.ts";
import { checkSubmitted } from "./check_submitted.ts";
import { Refused } from "./refused.ts";
import {
  type Asked,
  earlierSubmissions,
  lastSaid,
  processFolder,
  type Submission,
} from "./submission.ts";

/** Starts the process of a study in its folder; resolves with its exit code. */
export type StartStudy = (
  asked: Asked,
  folder: string,
) => { done: Promise<number>; stop(): void };

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
  readonly #line: Submission[] = [];
  #running: (Running & { done: Promise<void> }) | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;

  /** `stores`: those whose studies were submitted to an earlier board and are told of, too. */
  constructor(
    private readonly studies: string,
    private readonly start: StartStudy,
    stores: readonly string[] = [],
  ) {
    for (const one of earlierSubmissions(studies, stores)) this.#known.set(one.study_id, one);
  }

  get(study_id: string): Submission | undefined {
    const known = this.#known.get(study_id);
    if (known?.state === "starting") known.said = lastSaid(processFolder(this.studies, study_id));
    return known;
  }

  /**
   * Those that wait or run, in the order of the line, and those that ended, the newest last: one that
   * ended before it recorded anything is told of nowhere else.
   */
  all(): Submission[] {
    return [...this.#known.keys()].map((study_id) => this.get(study_id)!);
  }

  /** Checks a study document as `pare run` does and puts it in line. */
  async submit(given: unknown, store: string): Promise<Submission> {
    const request = checkStudy(given, "study");
    await checkSubmitted(request);
    if (this.#line.length >= MOST_WAITING) {
      throw new Refused(409, `Cannot take one more study: ${MOST_WAITING} wait in line already`);
    }
    const study_id = this.#freeName(studyName(request, new Date()));
    const { kind, model_name, dataset } = request;
    const submission: Submission = {
      ...{ study_id, kind, store, model_name, dataset },
      ...{ position: 0, state: "waiting", said: [], exit_code: null },
    };
    this.#known.set(study_id, submission);
    const folder = join(this.studies, study_id);
    await mkdir(folder, { recursive: true });
    // What was given, not what defaults made of it: the study infers what is not said.
    await writeFile(join(folder, "study.json"), JSON.stringify(given, null, 2) + "\n");
    this.#line.push(submission);
    this.#goOn();
    return submission;
  }

  /** Takes a study out of the line, or ends it as Ctrl-C does. */
  stop(study_id: string): "removed" | "stopping" | "not here" {
    const at = this.#line.findIndex((one) => one.study_id === study_id);
    if (at >= 0) {
      const [taken] = this.#line.splice(at, 1);
      taken!.state = "ended";
      taken!.position = 0;
      taken!.said.push("taken out of the line before it began");
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
    this.#line.forEach((one, at) => one.position = at + 1);
  }

  #goOn(): void {
    this.#number();
    const [next] = this.#line;
    if (this.#closed || this.#running !== null || next === undefined) return;
    if (runOwners(storePaths(next.store)).length > 0) {
      // Two studies at once would time each other's work: the line is looked at again.
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.#goOn();
      }, LOOK_MS);
      return;
    }
    this.#line.shift();
    this.#number();
    this.#begin(next);
  }

  #begin(submission: Submission): void {
    submission.state = "starting";
    submission.position = 0;
    const { study_id, kind, store, model_name, dataset } = submission;
    const folder = processFolder(this.studies, study_id);
    const { done, stop } = this.start({ study_id, kind, store, model_name, dataset }, folder);
    let stopped = false;
    const ended = done.then((code) => code, () => 1).then((code) => {
      submission.said = lastSaid(folder);
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
    const left = this.#line.map(({ study_id }) => study_id);
    this.#running?.stop();
    await this.#running?.done;
    return left;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
