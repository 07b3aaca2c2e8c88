import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import type { Imports } from "../../core/mod.ts";
import { adoptGroup, reapGroup } from "../child/process_group.ts";
import type { Exit } from "../child/start_child.ts";
import { makeWorkerFolder, removeWorkerFolder } from "./worker_folder.ts";
import {
  type SpawnOptions,
  spawnWorker,
  workerOver,
  type WorkerProcess,
} from "./worker_process.ts";

/** What a nursery says, one JSON object a line (`pare_backends/nursery.py`). */
const NurseryEvent = z.discriminatedUnion("event", [
  z.strictObject({ event: z.literal("ready"), pid: z.int(), imports_seconds: z.number() }),
  z.strictObject({ event: z.literal("forked"), order: z.int(), pid: z.int() }),
  z.strictObject({
    event: z.literal("exited"),
    pid: z.int(),
    code: z.int().nullable(),
    signal: z.string().nullable(),
  }),
]);

/** The path of a socket has room for so many bytes on Linux and macOS, its end included. */
const SOCKET_BYTES = 104;

/** How workers end whose nursery ends: the kernel sends them this. */
const DIED: Exit = { code: null, signal: "SIGHUP" };

/** A process that has the slow imports behind it and forks workers, each in milliseconds. */
export interface Nursery {
  /** Settles with the seconds of its imports; null: it ended before. */
  readonly ready: Promise<number | null>;
  readonly running: boolean;
  /** A worker with these imports done; undefined where it cannot be had here. */
  fork(log_path: string, imports: Imports): Promise<WorkerProcess | undefined>;
  /** Lets it end with the last of its workers. */
  end(): Promise<void>;
}

/** Where a nursery tells of one worker. */
interface Told {
  forked(pid: number): void;
  exited(exit: Exit): void;
}

/** Starts a nursery. */
export function startNursery(options: Omit<SpawnOptions, "args">): Nursery {
  const own = spawnWorker({ ...options, args: ["-m", "pare_backends.nursery"] });
  const ready = Promise.withResolvers<number | null>();
  const orders = new Map<number, Told>();
  const workers = new Map<number, Told>();
  let count = 0;
  const take = (event: z.infer<typeof NurseryEvent>) => {
    if (event.event === "ready") ready.resolve(event.imports_seconds);
    else if (event.event === "forked") {
      const told = orders.get(event.order)!; // forked only where it was ordered
      orders.delete(event.order);
      workers.set(event.pid, told);
      told.forked(event.pid);
    } else {
      workers.get(event.pid)?.exited({ code: event.code, signal: event.signal });
      workers.delete(event.pid);
    }
  };
  own.listen({
    line(text) {
      const event = readEvent(text);
      if (event === null) void own.end();
      else take(event);
    },
    overflow: () => void own.end(),
  });
  void own.exited.then(() => {
    ready.resolve(null);
    // The kernel ends its workers with it.
    for (const told of [...orders.values(), ...workers.values()]) told.exited(DIED);
  });

  return {
    ready: ready.promise,
    get running() {
      return own.running;
    },
    async fork(log_path, imports) {
      const folder = makeWorkerFolder();
      const socket = join(folder, "s");
      const fits = new TextEncoder().encode(socket).length < SOCKET_BYTES;
      const order = ++count;
      const worker = own.running && fits
        ? await adopted(socket, log_path, folder, (told) => {
          // It may have ended since it was asked: nobody would tell of this one any more.
          if (!own.running) return told.exited(DIED);
          orders.set(order, told);
          own.send(`${JSON.stringify({ order, socket, log: log_path, folder, imports })}\n`);
        })
        : undefined;
      if (worker === undefined) removeWorkerFolder(folder);
      return worker;
    },
    async end() {
      // A fork ends by its own signal, and this process with the last of them.
      if (orders.size + workers.size > 0) own.finish();
      else await own.end();
    },
  };
}

function readEvent(text: string): z.infer<typeof NurseryEvent> | null {
  try {
    return NurseryEvent.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The worker that connects to a socket once it is ordered; undefined where it ended before. */
async function adopted(
  path: string,
  log_path: string,
  folder: string,
  order: (told: Told) => void,
): Promise<WorkerProcess | undefined> {
  const exited = Promise.withResolvers<Exit>();
  const forked = Promise.withResolvers<number | null>();
  const connected = Promise.withResolvers<Socket | null>();
  const server = createServer((one) => connected.resolve(one));
  try {
    await new Promise<void>((resolve, reject) => server.on("error", reject).listen(path, resolve));
  } catch {
    return undefined; // no sockets in this folder
  }
  order({
    forked: forked.resolve,
    exited(exit) {
      forked.resolve(null);
      connected.resolve(null);
      exited.resolve(exit);
    },
  });
  const pid = await forked.promise;
  if (pid !== null) adoptGroup(pid);
  const wire = await connected.promise;
  server.close();
  if (pid === null || wire === null) {
    if (pid !== null) reapGroup(pid);
    return undefined;
  }
  const closed = new Promise((resolve) => wire.once("close", resolve));
  return workerOver({
    ...{ pid, log_path, folder, input: wire, output: wire },
    exited: exited.promise.then(async (exit) => {
      reapGroup(pid); // grandchildren hold the connection open: they end with their parent
      wire.end();
      await closed;
      return exit;
    }),
  });
}
