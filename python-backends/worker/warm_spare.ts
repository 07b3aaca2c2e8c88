import { readEvent } from "./read_event.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** Waiting workers, one an environment: imports done, listening on stdin. */
export interface Spares {
  /** Starts one where there is none; settles when it is ready, with its import seconds; null
   * where it could not start. */
  prepare(environment: string): Promise<number | null>;
  /** The environment's spare, ready or about to be; undefined where there is none. */
  take(environment: string): Promise<WorkerProcess | undefined>;
  /** Settles when no spare is importing. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

interface Spare {
  readonly worker: Promise<WorkerProcess>;
  readonly ready: Promise<number | null>;
}

/** Keeps spares that `start` makes. */
export function createSpares(
  { start }: { start: (environment: string) => Promise<WorkerProcess> },
): Spares {
  const waiting = new Map<string, Spare>();
  let closed = false;

  const prepare = (environment: string): Promise<number | null> => {
    const there = waiting.get(environment);
    if (there !== undefined) return there.ready;
    if (closed) return Promise.resolve(null);
    const worker = start(environment);
    const ready = worker.then(untilReady).catch(() => null);
    const spare = { worker, ready };
    waiting.set(environment, spare);
    // A spare that died or never started is no spare.
    worker.then((it) => it.exited).catch(() => null).then(() => {
      if (waiting.get(environment) === spare) waiting.delete(environment);
    });
    return ready;
  };

  return {
    prepare,
    async take(environment) {
      const spare = waiting.get(environment);
      if (spare === undefined) return undefined;
      waiting.delete(environment);
      const worker = await spare.worker.catch(() => undefined);
      return worker?.running ? worker : undefined;
    },
    async settle() {
      await Promise.all([...waiting.values()].map(({ ready }) => ready));
    },
    async close() {
      closed = true;
      const spares = [...waiting.values()];
      waiting.clear();
      await Promise.all(spares.map(async ({ worker }) => {
        const it = await worker.catch(() => undefined);
        await it?.end();
      }));
    },
  };
}

/** Import seconds that the worker's `ready` event tells; null where it ends before. */
function untilReady(worker: WorkerProcess): Promise<number | null> {
  return new Promise((resolve) => {
    worker.listen({
      line(text) {
        const read = readEvent(text);
        if (read.ok && read.event.event === "ready") resolve(read.event.imports_seconds);
      },
      overflow: () => resolve(null),
    });
    void worker.exited.then(() => resolve(null));
  });
}
