/**
 * Jobs of a Ray cluster, by the REST interface of its head. Jobs are never deleted there: one that is
 * comes back as failed. A head that dies forgets its jobs and leaves what runs: the folder tells then.
 */
import { z } from "zod";
import {
  type Attempt,
  type Engine,
  EngineError,
  type EngineState,
  type Handle,
  type Slots,
} from "../../../../core/jobs/engine.ts";
import {
  askFor,
  attemptName,
  readAsked,
  readLog,
  readRequest,
} from "../../attempt/attempt_folder.ts";
import { endOf, settled } from "../../attempt/attempt_state.ts";
import { readLease } from "../../attempt/lease.ts";
import { clockRefusal, clocksAgree, probe } from "../probe.ts";
import { ofAnotherStore, takeOn } from "../take_on.ts";
import { minus, NO_SLOTS, plus } from "../../../../core/jobs/slots.ts";
import { largestOf } from "../slots.ts";
import { wrapperWords } from "../wrapper_words.ts";
import { askRay, documentOf, type RayHead } from "./ask_ray.ts";

/** What a user says of a cluster. */
export interface RayOptions {
  readonly head: RayHead;
  /** Deno on its machines. */
  readonly deno: string;
  readonly machine: string | null;
}

/** A job as its head tells of it; one that was not submitted has no id of ours. */
const Job = z.object({
  submission_id: z.string().nullish(),
  status: z.string(),
  message: z.string().nullish(),
  driver_exit_code: z.number().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});
type Job = z.infer<typeof Job>;

/** Of each node what is used and what there is, by resource; absent in a head's first seconds. */
const Usage = z.object({
  data: z.object({
    clusterStatus: z.object({
      loadMetricsReport: z.object({
        usageByNode: z.record(
          z.string(),
          z.record(z.string(), z.tuple([z.number(), z.number()])),
        ),
      }),
    }),
  }),
});

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;

/** The words as a shell reads them: a head takes no list of them. */
function shellLine(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}

function stateOf({ status, message, driver_exit_code }: Job): EngineState {
  const reason = message?.trim().split("\n").at(-1)?.slice(0, 300);
  const said = reason === undefined || reason === "" ? {} : { reason };
  switch (status) {
    case "PENDING":
      return { state: "queued", reason: reason ?? null };
    case "RUNNING":
      return { state: "running" };
    case "SUCCEEDED":
      return { state: "ended", how: "exit", code: 0 };
    case "STOPPED":
      return { state: "ended", how: "cancelled", code: null };
    case "FAILED":
      return typeof driver_exit_code === "number"
        ? { state: "ended", how: "exit", code: driver_exit_code, ...said }
        : { state: "ended", how: "lost", code: null, ...said };
    default:
      return { state: "unknown", reason: `its head says ${status}` };
  }
}

/** Refuses an address that would carry the token over a network for all to read. */
function checkAddress({ name, url }: RayHead): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:" || LOOPBACK.test(hostname)) return;
  throw new EngineError(
    "refused",
    `Cannot use ${name}: its token would go over the network to ${hostname} for all to read; forward ` +
      `its port (ssh -L 8265:127.0.0.1:8265 ${hostname}) and name ray://127.0.0.1:8265`,
  );
}

export class RayEngine implements Engine {
  constructor(readonly name: string, readonly options: RayOptions) {
    checkAddress(options.head);
  }

  async #document(attempt: string, path: string, body?: unknown): Promise<unknown> {
    const { head } = this.options;
    return documentOf(attempt, head, await askRay(attempt, head, path, body));
  }

  async check(folder: string | null): Promise<string | null> {
    const { head } = this.options;
    await this.#jobs(); // with the token
    // A page to log in at is no list of jobs; no answer at all gives nothing away.
    const signal = AbortSignal.timeout(head.timeout_ms ?? 10_000);
    const own = { redirect: "manual", signal } as const;
    const began = Date.now();
    const without = await fetch(`${head.url}/api/jobs/`, own).catch(() => null);
    await without?.body?.cancel();
    if (without !== null && without.ok) {
      throw new EngineError(
        "refused",
        `Cannot use ${this.name} as it runs what anybody sends: start its head with RAY_AUTH_MODE=token ` +
          "and RAY_AUTH_TOKEN",
      );
    }
    const there = Date.parse(without?.headers.get("date") ?? "");
    // A head that has no other machine runs the jobs; of several the first job tells which time they have.
    if (there > 0 && !clocksAgree(began, there) && (await this.#nodes()).length === 1) {
      throw clockRefusal(this.name, began, there);
    }
    return folder === null ? null : await probe(this, folder);
  }

  async submit(attempt: Attempt): Promise<Handle> {
    const { id, folder, slots, env } = attempt;
    const submission_id = attemptName(attempt);
    if (takeOn(this.name, attempt, (await this.capacity()).largest)) return folder;
    const what = `submit ${id} to ${this.name}`;
    const answer = await askRay(what, this.options.head, "/api/jobs/", {
      submission_id,
      entrypoint: shellLine(wrapperWords(folder, this.options.deno)),
      entrypoint_num_cpus: slots.cpu,
      entrypoint_num_gpus: slots.gpu,
      ...(slots.memory_gb === null ? {} : { entrypoint_memory: Math.ceil(slots.memory_gb * 1e9) }),
      runtime_env: { env_vars: env },
      metadata: { folder },
    });
    // The same id again: it answers 500 and says so in the text.
    if (!/already exists/.test(answer.text)) documentOf(what, this.options.head, answer);
    else await this.#requireOwn(attempt, submission_id);
    return folder;
  }

  /** An id that was taken is this attempt's own, of which an answer was lost, or another store's. */
  async #requireOwn(attempt: Attempt, name: string): Promise<void> {
    const there = (await this.#jobs()).find(({ submission_id }) => submission_id === name);
    const folder = there?.metadata?.["folder"];
    if (folder !== undefined && folder !== attempt.folder) {
      throw ofAnotherStore(this.name, attempt, folder);
    }
  }

  async #jobs(): Promise<Job[]> {
    const what = `ask ${this.name} for its jobs`;
    const found = z.array(Job).safeParse(await this.#document(what, "/api/jobs/"));
    if (found.success) return found.data;
    throw new EngineError("down", `Cannot ${what}: its answer is no list of jobs`);
  }

  async states(handles: readonly Handle[]): Promise<ReadonlyMap<Handle, EngineState>> {
    const open = handles.filter((one) => endOf(one) === null);
    const jobs = open.length === 0 ? [] : await this.#jobs();
    const states = handles.map(async (handle): Promise<[Handle, EngineState]> => {
      const job = jobs.find(({ metadata }) => metadata?.["folder"] === handle);
      const known = job === undefined ? unknownTo(this.name) : stateOf(job);
      // Looked for last: it may have ended meanwhile.
      return [handle, await settled(handle) ?? afterCancel(handle) ?? known];
    });
    return new Map(await Promise.all(states));
  }

  async logs(handle: Handle, from: number) {
    const own = readLog(handle, from);
    const request = readRequest(handle);
    if (own.next > 0 || request === null || readLease(handle) !== null) return own;
    // It never began: why stands in its head's own log alone.
    const path = `/api/jobs/${attemptName(request)}/logs`;
    const what = `read the log of ${request.id}`;
    const found = z.object({ logs: z.string() }).safeParse(await this.#document(what, path));
    if (!found.success) throw new EngineError("down", `Cannot ${what}: its answer has no log`);
    const bytes = new TextEncoder().encode(found.data.logs).subarray(from, from + (1 << 20));
    return { bytes, next: from + bytes.length, more: false };
  }

  async save(handle: Handle): Promise<void> {
    const state = (await this.states([handle])).get(handle);
    // One that has not begun has nothing to save: it is taken back.
    if (state?.state === "queued") await this.cancel(handle);
    else askFor(handle, "save");
  }

  /** The wrapper ends what runs, with all below it: a head would leave that alive. */
  async cancel(handle: Handle): Promise<void> {
    askFor(handle, "cancel");
    const request = readRequest(handle);
    if (request === null || readLease(handle) !== null || endOf(handle) !== null) return;
    const what = `cancel ${request.id}`;
    const answer = await askRay(
      what,
      this.options.head,
      `/api/jobs/${attemptName(request)}/stop`,
      {},
    );
    if (answer.status !== 404) documentOf(what, this.options.head, answer);
  }

  /** Of each machine what is used and what there is, by resource. */
  async #nodes() {
    const what = `ask ${this.name} for its machines`;
    const found = Usage.safeParse(await this.#document(what, "/api/cluster_status"));
    const by_node = found.data?.data.clusterStatus.loadMetricsReport.usageByNode ?? {};
    if (Object.keys(by_node).length === 0) {
      throw new EngineError("down", `Cannot ${what}: its head lists none yet, or none any more`);
    }
    return Object.values(by_node);
  }

  async capacity() {
    const nodes = await this.#nodes();
    const slots = (n: 0 | 1) =>
      nodes.map(({ CPU, GPU, memory }): Slots => ({
        ...{ cpu: CPU?.[n] ?? 0, gpu: GPU?.[n] ?? 0, memory_gb: (memory?.[n] ?? 0) / 1e9 },
      }));
    const [used, all] = [slots(0), slots(1)];
    const total = all.reduce((sum, one) => plus(sum, one), NO_SLOTS);
    const free = used.reduce((left, one) => minus(left, one), total);
    return { total, free, largest: largestOf(all), machine: this.options.machine ?? "ray" };
  }

  async find(id: string, attempt: number): Promise<Handle[]> {
    const name = attemptName({ id, attempt });
    return (await this.#jobs()).flatMap(({ submission_id, metadata }) =>
      submission_id === name ? metadata?.["folder"] ?? [] : []
    );
  }
}

/** A stop has no effect on one that waits there: it will end itself as soon as it begins. */
function afterCancel(handle: Handle): EngineState | null {
  const never = readAsked(handle) === "cancel" && readLease(handle) === null;
  return never ? { state: "ended", how: "cancelled", code: null } : null;
}

function unknownTo(name: string): EngineState {
  return { state: "unknown", reason: `${name} knows no such job: its head may have begun anew` };
}
