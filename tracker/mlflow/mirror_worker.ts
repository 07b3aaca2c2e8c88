/// <reference lib="deno.worker" />
import { UsageError } from "../../core/mod.ts";
import { connectionOf } from "./connection.ts";
import { MlflowError, PATIENCE } from "./http.ts";
import { type Mirror, openMirror } from "./mirror.ts";
import type { MirrorAsk, MirrorState } from "./start_mirror.ts";

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;

/** Few tries a pass: passes are what is tried again. */
const BRIEF = { ...PATIENCE, retries: 2 };

let mirror: Mirror | null = null;
let wanted = 0;
let turn = 0;
let running = false;
let timer: ReturnType<typeof setTimeout> | undefined;
let pause = FIRST_PAUSE_MS;
let pauses = 0;
const unpaused: (() => void)[] = [];
let state: MirrorState = { reached: 0, turn: 0, trouble: null, ended: false, refused: [] };

function say(change: Partial<MirrorState>): void {
  state = { ...state, ...change };
  self.postMessage(state);
}

function quiet(): Promise<void> {
  return pauses === 0 ? Promise.resolve() : new Promise((resolve) => unpaused.push(resolve));
}

async function run(): Promise<void> {
  clearTimeout(timer);
  if (running || mirror === null || state.ended) return;
  running = true;
  try {
    while (state.turn < turn) {
      const [to, served] = [wanted, turn];
      await mirror.pass(to);
      pause = FIRST_PAUSE_MS;
      say({ reached: to, turn: served, trouble: null });
    }
  } catch (error) {
    const trouble = error instanceof Error ? error.message : String(error);
    const ended = error instanceof UsageError || error instanceof MlflowError && error.forbidden;
    say({ trouble, ended });
    timer = setTimeout(() => void run(), pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  } finally {
    running = false;
  }
}

self.onmessage = ({ data }: MessageEvent<MirrorAsk>) => {
  switch (data.kind) {
    case "open": {
      const { uri, variables, ...input } = data;
      mirror = openMirror({
        ...input,
        connection: connectionOf(uri, variables),
        patience: BRIEF,
        quiet,
        onRefused: (sentence) => say({ refused: [...state.refused, sentence].slice(-20) }),
      });
      break;
    }
    case "follow":
      mirror?.follow(data.study_id, data.from);
      break;
    case "read":
      wanted = Math.max(wanted, data.to);
      turn = data.turn;
      // While the server is away its turn comes by the timer; a last try is made at once.
      if (state.trouble === null || data.now) void run();
      break;
    case "pause":
      pauses++;
      break;
    case "go":
      pauses--;
      if (pauses === 0) { for (const resolve of unpaused.splice(0)) resolve(); }
  }
};
