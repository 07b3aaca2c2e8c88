import type { Store } from "../store/store.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { connectionOf } from "./connection.ts";

/** What the mirror's thread is told. */
export type MirrorAsk =
  | {
    kind: "open";
    root: string;
    reports: string;
    uri: string;
    variables: Record<string, string>;
    experiment: string;
    checkpoints: Checkpoints;
    max_file_bytes: number;
  }
  | { kind: "follow"; study_id: string; from: number | null }
  | { kind: "read"; to: number; now: boolean; turn: number }
  | { kind: "pause" }
  | { kind: "go" };

/** How far the mirror is. */
export interface MirrorState {
  /** Bytes of the journal that are on the server. */
  readonly reached: number;
  /** The last turn that was asked for and is done. */
  readonly turn: number;
  /** Why it does not go on for now; null: it does. */
  readonly trouble: string | null;
  /** It has given up: nothing will change without another start. */
  readonly ended: boolean;
  /** What the server will not take; the last 20. */
  readonly refused: readonly string[];
}

/** How far it is after waiting for it. */
export interface MirrorEnd extends MirrorState {
  /** There is more in the journal than on the server. */
  readonly behind: boolean;
}

/** The mirror beside a study: a thread of its own, so that no trial waits for a server. */
export interface RunningMirror {
  /** The server, as it may be shown. */
  readonly shown: string;
  readonly state: MirrorState;
  /** The store of a study, mirrored from now on; the mirror is quiet while its sink is. */
  attach(store: Store, study: { study_id: string; isNew: boolean }): Promise<Store>;
  /** Waits until everything that was recorded is there, or the server is in trouble. */
  finish(wait_ms: number): Promise<MirrorEnd>;
  stop(): void;
}

export interface MirrorOptions {
  readonly root: string;
  readonly reports: string;
  readonly uri: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly experiment: string;
  readonly checkpoints: Checkpoints;
  readonly max_file_bytes: number;
}

const POLL_MS = 1_000;

/** Variables that the thread needs, and no others. */
function mlflowVariables(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => name.startsWith("MLFLOW_")),
  );
}

/**
 * Starts a mirror; it follows the studies whose stores are attached.
 *
 * @throws UsageError for an address or a certificate that cannot be used.
 */
export function startMirror(options: MirrorOptions): RunningMirror {
  const { shown } = connectionOf(options.uri, options.variables);
  const worker = new Worker(new URL("./mirror_worker.ts", import.meta.url), { type: "module" });
  const ask = (message: MirrorAsk) => worker.postMessage(message);
  let state: MirrorState = { reached: 0, turn: 0, trouble: null, ended: false, refused: [] };
  let changed: (() => void)[] = [];
  let end = 0;
  let turn = 0;
  const timers: ReturnType<typeof setInterval>[] = [];
  const settle = (next: MirrorState) => {
    state = next;
    for (const resolve of changed.splice(0)) resolve();
  };
  worker.onmessage = ({ data }: MessageEvent<MirrorState>) => settle(data);
  worker.onerror = (event) => {
    event.preventDefault(); // a mirror that breaks must not take the study along
    settle({ ...state, trouble: event.message, ended: true });
  };
  ask({ kind: "open", ...options, variables: mlflowVariables(options.variables) });

  const look = async (store: Store, now: boolean) => {
    const { journal_bytes } = await store.status();
    if (journal_bytes === end && !now) return;
    end = journal_bytes;
    ask({ kind: "read", to: end, now, turn: ++turn });
  };
  let current: Store | null = null;

  return {
    shown,
    get state() {
      return state;
    },
    async attach(store, { study_id, isNew }) {
      current = store;
      const { journal_bytes } = await store.status();
      ask({ kind: "follow", study_id, from: isNew ? journal_bytes : null });
      // A store that cannot be read is the study's to report.
      const timer = setInterval(() => void look(store, false).catch(() => {}), POLL_MS);
      Deno.unrefTimer(Number(timer));
      timers.push(timer);
      return {
        ...store,
        pauseSink() {
          const paused = store.pauseSink();
          ask({ kind: "pause" });
          return {
            [Symbol.dispose]() {
              paused[Symbol.dispose]();
              ask({ kind: "go" });
            },
          };
        },
      };
    },
    async finish(wait_ms) {
      if (current === null || state.ended) return { ...state, behind: state.ended };
      state = { ...state, trouble: null };
      await look(current, true);
      const asked = turn;
      const limit = AbortSignal.timeout(wait_ms);
      while (!limit.aborted && state.turn < asked && state.trouble === null) {
        await Promise.race([
          new Promise<void>((resolve) => changed.push(resolve)),
          new Promise<void>((resolve) => limit.addEventListener("abort", () => resolve())),
        ]);
      }
      return { ...state, behind: state.turn < asked };
    },
    stop() {
      for (const timer of timers) clearInterval(timer);
      worker.terminate();
      changed = [];
    },
  };
}
