/**
 * The mirror as a process of its own, so that nothing that happens to it happens to a study: asked on
 * its standard input, telling on its standard output, and gone when its input ends.
 */
import process from "node:process";
import { UsageError } from "../../../core/mod.ts";
import { createLineSplitter } from "../../../python-backends/child/line_splitter.ts";
import { connectionOf } from "./client/connection.ts";
import { MlflowError, PATIENCE } from "./client/http.ts";
import { type Mirror, openMirror } from "./mirror.ts";
import { MirrorAsk, type MirrorState, type MirrorTold } from "./mirror_words.ts";

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;

/** Few tries a pass: passes are what is tried again. */
const BRIEF = { ...PATIENCE, retries: 2 };

let mirror: Mirror | null = null;
let wanted: Record<string, number> = {};
let turn = 0;
let running = false;
let timer: ReturnType<typeof setTimeout> | undefined;
let pause = FIRST_PAUSE_MS;
let pauses = 0;
const unpaused: (() => void)[] = [];
let state: MirrorState = { reached: {}, turn: 0, trouble: null, ended: false };

function tell(told: MirrorTold): void {
  const line = new TextEncoder().encode(`${JSON.stringify(told)}\n`);
  for (let at = 0; at < line.length;) at += Deno.stdout.writeSync(line.subarray(at));
}

function say(change: Partial<MirrorState>): void {
  state = { ...state, ...change };
  tell({ kind: "state", state });
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

function take(asked: MirrorAsk): void {
  switch (asked.kind) {
    case "open": {
      const { uri, variables, ...input } = asked;
      mirror = openMirror({
        ...input,
        connection: connectionOf(uri, variables),
        patience: BRIEF,
        quiet,
        onSaid: (sentence) => tell({ kind: "said", sentence }),
      });
      break;
    }
    case "follow":
      mirror?.follow(asked.study_id, asked.from);
      break;
    case "read":
      wanted = asked.to;
      turn = asked.turn;
      // While the server is away its turn comes by the timer; a last try is made at once.
      if (state.trouble === null || asked.now) void run();
      break;
    case "pause":
      pauses++;
      break;
    case "go":
      pauses--;
      if (pauses === 0) { for (const resolve of unpaused.splice(0)) resolve(); }
  }
}

// node's readline would end a line at U+2028 too, which JSON leaves in its texts as it is.
const lines = createLineSplitter({
  onLine: (line) => take(MirrorAsk.parse(JSON.parse(line))),
  onOverflow: (bytes) => {
    throw new Error(`a line of ${bytes} bytes was asked`);
  },
});
for await (const chunk of process.stdin) lines.push(chunk as Uint8Array);
Deno.exit(0);
