/**
 * Jobs of a SLURM cluster, by the programs that every user of it has. A job is called by its attempt, so
 * that it is found again whoever asks; `singleton` lets a second one of that name wait for the first.
 */
import { fileURLToPath } from "node:url";
import {
  type Attempt,
  type Engine,
  EngineError,
  type EngineState,
  type Handle,
} from "../../../../core/jobs/engine.ts";
import { unknownName } from "../../../../core/mod.ts";
import {
  askFor,
  attemptName,
  attemptPaths,
  readAsked,
  readLog,
  readRequest,
} from "../../attempt/attempt_folder.ts";
import { endOf, settled } from "../../attempt/attempt_state.ts";
import { readLease } from "../../attempt/lease.ts";
import { probe } from "../probe.ts";
import { ofAnotherStore, takeOn } from "../take_on.ts";
import { wrapperWords } from "../wrapper_words.ts";
import { askSlurm } from "./ask_slurm.ts";
import {
  capacityOf,
  COLUMNS,
  fieldsOf,
  type Listed,
  readListed,
  stateOf,
} from "./slurm_answers.ts";

const START = fileURLToPath(new URL("./start.sh", import.meta.url));

/** What a user says of a cluster. */
export interface SlurmOptions {
  /** Null: the cluster's default one. */
  readonly partition: string | null;
  readonly account: string | null;
  /** Minutes of a job that was given no seconds; null: the partition's default. */
  readonly minutes: number | null;
  /** The name of its cards as a resource, such as `gpu:a100`. */
  readonly gres: string;
  /** More of sbatch's words. */
  readonly extra: readonly string[];
  /** Deno on its machines. */
  readonly deno: string;
  /** Kind of machine; null: the partition's name. */
  readonly machine: string | null;
}

/** Seconds before SLURM's limit at which the wrapper hears of it; it begins to end a job well before. */
const WARNED_SECONDS = 120;

const MIB_PER_GB = 1e9 / 1024 ** 2;

function sbatchWords(attempt: Attempt, options: SlurmOptions): string[] {
  const { folder, slots, seconds } = attempt;
  const { partition, account, gres, extra, deno } = options;
  const minutes = seconds === null
    ? options.minutes
    : Math.ceil((seconds + 2 * WARNED_SECONDS) / 60);
  return [
    ...[
      "--parsable",
      `--job-name=${attemptName(attempt)}`,
      "--dependency=singleton",
      "--no-requeue",
    ],
    ...[`--chdir=${folder}`, `--output=${attemptPaths(folder).log}`, "--open-mode=append"],
    ...["--export=ALL", "--ntasks=1", `--cpus-per-task=${Math.max(1, Math.ceil(slots.cpu))}`],
    `--signal=B:USR1@${WARNED_SECONDS}`,
    ...(partition === null ? [] : [`--partition=${partition}`]),
    ...(account === null ? [] : [`--account=${account}`]),
    ...(minutes === null ? [] : [`--time=${minutes}`]),
    ...(slots.gpu === 0 ? [] : [`--gres=${gres}:${slots.gpu}`]),
    ...(slots.memory_gb === null ? [] : [`--mem=${Math.ceil(slots.memory_gb * MIB_PER_GB)}M`]),
    ...extra,
    ...[START, folder, ...wrapperWords(folder, deno)],
  ];
}

export class SlurmEngine implements Engine {
  /** False once it has said that nobody counts there. */
  #counts = true;

  constructor(readonly name: string, readonly options: SlurmOptions) {}

  async check(folder: string | null): Promise<string | null> {
    const { partition } = this.options;
    const printed = await askSlurm(`ask for the partitions of ${this.name}`, [
      ...["scontrol", "show", "partition", "-o"] as const,
    ]);
    const partitions = printed.split("\n").map(fieldsOf).filter((one) => one.has("PartitionName"));
    const names = partitions.map((one) => one.get("PartitionName")!);
    if (partition !== null && !names.includes(partition)) {
      throw new EngineError("refused", unknownName("partition", partition, names));
    }
    const state = partitions.find((one) => one.get("PartitionName") === partition)?.get("State");
    if (state !== undefined && state !== "UP") {
      throw new EngineError(
        "refused",
        `Cannot submit to the partition ${partition} as it is ${state}`,
      );
    }
    return folder === null ? null : await probe(this, folder);
  }

  async submit(attempt: Attempt): Promise<Handle> {
    const { id, folder, env } = attempt;
    const name = attemptName(attempt);
    const begun = takeOn(this.name, attempt, (await this.capacity()).largest) ||
      await this.#hasTaken(name, attempt);
    if (!begun) {
      await askSlurm(`submit ${id} to ${this.name}`, [
        "sbatch",
        ...sbatchWords(attempt, this.options),
      ], env);
    }
    return folder;
  }

  /** Whether a job of that name is this attempt's; one that works elsewhere is another store's. */
  async #hasTaken(name: string, attempt: Attempt): Promise<boolean> {
    const there = await this.#list([`--name=${name}`]);
    if (there.some(({ folder }) => folder === attempt.folder)) return true;
    for (const { state, reason, folder } of there) {
      const { state: now } = await stateOf(state, reason, () => Promise.resolve(null));
      if (now !== "ended") throw ofAnotherStore(this.name, attempt, folder);
    }
    return false;
  }

  /** Every job of this user that the controller remembers. */
  async #list(more: readonly string[] = []): Promise<Listed[]> {
    const words = ["squeue", "--me", "--noheader", "--states=all", `--format=${COLUMNS}`] as const;
    return readListed(await askSlurm(`ask ${this.name} for its jobs`, [...words, ...more]));
  }

  async states(handles: readonly Handle[]): Promise<ReadonlyMap<Handle, EngineState>> {
    const open = handles.filter((one) => endOf(one) === null);
    const listed = open.length === 0 ? [] : await this.#list();
    const missing = open.filter((one) => !listed.some(({ folder }) => folder === one));
    const counted = await this.#counted(missing);
    const states = handles.map(async (handle): Promise<[Handle, EngineState]> => {
      const jobs = listed.filter(({ folder }) => folder === handle);
      const known = await this.#stateOf(jobs) ?? counted.get(handle);
      // Looked for last: it may have ended meanwhile.
      return [handle, await settled(handle) ?? known ?? unknownTo(this.name, handle)];
    });
    return new Map(await Promise.all(states));
  }

  /** Of jobs of one name the first that has not ended, else the last. */
  async #stateOf(jobs: readonly Listed[]): Promise<EngineState | null> {
    const states: EngineState[] = [];
    for (
      const { job_id, state, reason } of jobs.toSorted((a, b) =>
        Number(a.job_id) - Number(b.job_id)
      )
    ) {
      states.push(await stateOf(state, reason, () => exitOf(job_id)));
    }
    return states.find(({ state }) => state === "running") ??
      states.find(({ state }) => state === "queued") ?? states.at(-1) ?? null;
  }

  /** What the accounting keeps of jobs that the controller has forgotten; nothing where there is none. */
  async #counted(handles: readonly Handle[]): Promise<ReadonlyMap<Handle, EngineState>> {
    const names = new Map(handles.flatMap((handle) => {
      const request = readRequest(handle);
      return request === null ? [] : [[attemptName(request), handle] as const];
    }));
    if (names.size === 0 || !this.#counts) return new Map();
    let printed = "";
    try {
      printed = await askSlurm("ask SLURM's accounting", [
        ...["sacct", "-X", "-n", "-P", "--starttime=now-30days"] as const,
        ...[`--name=${[...names.keys()].join(",")}`, "--format=JobName,State,ExitCode"],
      ]);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      this.#counts = error.kind === "down"; // else "accounting storage is disabled": it stays so
    }
    const rows = printed.split("\n").map((line) => line.split("|"));
    const states = rows.filter(([name]) => names.has(name!)).map(async ([name, state, exit]) =>
      [names.get(name!)!, await stateOf(state!, "", () => Promise.resolve(exit!))] as const
    );
    return new Map(await Promise.all(states));
  }

  logs(handle: Handle, from: number) {
    return Promise.resolve(readLog(handle, from));
  }

  /** One that has not begun has nothing to save: it is taken back. */
  async save(handle: Handle): Promise<void> {
    const states = await this.states([handle]);
    if (states.get(handle)?.state === "queued") return await this.cancel(handle);
    askFor(handle, "save");
    await this.#signal(handle, ["--signal=USR1", "--batch"]);
  }

  async cancel(handle: Handle): Promise<void> {
    askFor(handle, "cancel");
    await this.#signal(handle, []);
  }

  /** A file tells it too: a signal is quicker, and ends what waits. */
  async #signal(handle: Handle, how: readonly string[]): Promise<void> {
    const request = readRequest(handle);
    if (request === null || endOf(handle) !== null) return;
    const words = ["scancel", "--quiet", "--me", `--name=${attemptName(request)}`] as const;
    await askSlurm(`tell ${this.name} to end ${request.id}`, [...words, ...how]);
  }

  async capacity() {
    const { partition, machine } = this.options;
    const printed = await askSlurm(`ask ${this.name} for its machines`, [
      ...["scontrol", "show", "node", "-d", "-o"] as const,
    ]);
    return {
      ...capacityOf(printed, partition),
      machine: machine ?? `slurm-${partition ?? "default"}`,
    };
  }

  async find(id: string, attempt: number): Promise<Handle[]> {
    const listed = await this.#list([`--name=${attemptName({ id, attempt })}`]);
    return [...new Set(listed.map(({ folder }) => folder))];
  }
}

/** The exit code and signal of a job, such as `7:0`; null where the controller has forgotten it. */
async function exitOf(job_id: string): Promise<string | null> {
  try {
    const printed = await askSlurm(`ask for job ${job_id}`, [
      "scontrol",
      "show",
      "job",
      "-o",
      job_id,
    ]);
    return fieldsOf(printed).get("ExitCode") ?? null;
  } catch (error) {
    if (error instanceof EngineError && error.kind === "refused") return null; // Invalid job id specified
    throw error;
  }
}

function unknownTo(name: string, handle: Handle): EngineState {
  if (readAsked(handle) === "cancel" && readLease(handle) === null) {
    return { state: "ended", how: "cancelled", code: null };
  }
  return { state: "unknown", reason: `${name} knows no such job, or has forgotten it` };
}
