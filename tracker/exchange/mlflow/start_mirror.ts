import type { Store } from "../../store/store.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { connectionOf } from "./client/connection.ts";
import { FollowedStudies } from "./followed_studies.ts";
import { mirroredElsewhere } from "./lock_mirror.ts";
import { type MirrorMemory, startMirrorChild } from "./mirror_child.ts";
import type { MirrorAsk, MirrorState, MirrorTold } from "./mirror_words.ts";

/** How far it is after waiting for it. */
export interface MirrorEnd extends MirrorState {
  /** There is more in the journals than on the server. */
  readonly behind: boolean;
  /** How many things are there otherwise than expected, or not at all; each was said. */
  readonly said: number;
}

/**
 * The mirror beside a study: a process of its own with a bound on its memory, so that no trial waits
 * for a server and nothing that ends the mirror ends a study.
 */
export interface RunningMirror {
  /** The server, as it may be shown. */
  readonly shown: string;
  /** The mirror's process. */
  readonly pid: number;
  readonly state: MirrorState;
  /** The store of a study, mirrored from now on; the mirror is quiet while its sink is. */
  attach(store: Store, study: { study_id: string; isNew: boolean }): Store;
  /** Waits until everything that was recorded is there, or the server is in trouble. */
  finish(wait_ms: number): Promise<MirrorEnd>;
  /** Ends the mirror's process; settles when it is gone. */
  stop(): Promise<void>;
}

export interface MirrorOptions {
  readonly root: string;
  readonly reports: string;
  readonly uri: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly experiment: string;
  readonly checkpoints: Checkpoints;
  readonly max_file_bytes: number;
  /** Told once of each thing that is there otherwise than expected, and of the mirror's own end; default: standard
   * error. */
  readonly onSaid?: (sentence: string) => void;
  readonly memory?: MirrorMemory;
}

const POLL_MS = 1_000;
const LATER = "npx -y deno task pare mlflow sync mirrors the rest";

/** Variables that the process needs, and no others. */
function mlflowVariables(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => name.startsWith("MLFLOW_")),
  );
}

function warn(sentence: string): void {
  console.error(`pare: ${sentence}`);
}

/** The store, whose sink and mirror are quiet at the same times. */
function pausedTogether(store: Store, ask: (message: MirrorAsk) => void): Store {
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
}

/**
 * Starts a mirror; it follows the studies whose stores are attached.
 *
 * @throws UsageError for an address or a certificate that cannot be used.
 */
export function startMirror(options: MirrorOptions): RunningMirror {
  const { onSaid = warn, memory, ...input } = options;
  const { shown } = connectionOf(input.uri, input.variables);
  let state: MirrorState = { reached: {}, turn: 0, trouble: null, ended: false };
  let said = 0;
  let changed: (() => void)[] = [];
  let turn = 0;
  const followed = new FollowedStudies(input.root);
  const settle = (next: MirrorState) => {
    state = next;
    for (const resolve of changed.splice(0)) resolve();
  };
  const child = startMirrorChild({
    ...(memory === undefined ? {} : { memory }),
    onTold(told: MirrorTold) {
      if (told.kind === "state") return settle(told.state);
      said += 1;
      onSaid(told.sentence);
    },
    onEnded(reason) {
      onSaid(`The mirror to MLflow has ended: ${reason}. The study goes on; ${LATER}`);
      settle({ ...state, trouble: `the mirror has ended: ${reason}`, ended: true });
    },
  });
  const ask = (message: MirrorAsk) => child.ask(message);
  ask({ kind: "open", ...input, variables: mlflowVariables(input.variables) });

  const look = (now: boolean) => {
    const { to, grown } = followed.ends();
    if (now || grown) ask({ kind: "read", to, now, turn: ++turn });
  };
  const timer = setInterval(() => look(false), POLL_MS);
  Deno.unrefTimer(Number(timer));

  return {
    shown,
    pid: child.pid,
    get state() {
      return state;
    },
    attach(store, { study_id, isNew }) {
      if (!followed.add(store, study_id)) {
        onSaid(
          `${mirroredElsewhere(input.root, study_id)}: it is not mirrored from here; ${LATER}`,
        );
        return store;
      }
      ask({ kind: "follow", study_id, from: isNew ? store.endOf(study_id) : null });
      return pausedTogether(store, ask);
    },
    async finish(wait_ms) {
      if (followed.none || state.ended) return { ...state, said, behind: state.ended };
      state = { ...state, trouble: null };
      look(true);
      const asked = turn;
      const limit = AbortSignal.timeout(wait_ms);
      while (!limit.aborted && state.turn < asked && state.trouble === null) {
        await Promise.race([
          new Promise<void>((resolve) => changed.push(resolve)),
          new Promise<void>((resolve) => limit.addEventListener("abort", () => resolve())),
        ]);
      }
      return { ...state, said, behind: state.turn < asked };
    },
    async stop() {
      clearInterval(timer);
      changed = [];
      await child.stop();
      followed.release();
    },
  };
}
