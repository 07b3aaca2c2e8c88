/** A program that starts children and grandchildren, and waits at each moment until it is told to go on. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { isAlive } from "../../../python-backends/process_owner.ts";
import { patience } from "../walk_loops.ts";

const BARE = 'env -i PATH="$PATH" PARE_TEST_POINT="$PARE_TEST_POINT"';
/** How the children are started; each starts a child of its own. */
export const FAMILIES = {
  "of its group": "sh child.sh",
  "in sessions of their own, deaf to signals": "setsid sh child.sh deaf",
  "without its variables": `${BARE} sh child.sh`,
} as const;
export type Family = keyof typeof FAMILIES;

const CHILD = `
if test "$1" = deaf; then trap '' INT TERM HUP; fi
echo $$ >> up
sh -c 'echo $$ >> up; exec sleep 1000' &
wait`;

/** Lines of `up` once every child and grandchild runs. */
const UP = 4;

const leaderOf = (family: Family) => `
cd "$1"
echo $$ >> began
read _ < start
trap 'echo > saving; read _ < go; exit 3' INT
${FAMILIES[family]} &
${FAMILIES[family]} &
${BARE} sh -c 'read _ < done' &
wait $!
exit 0`;

/** Waits for what a process does by itself; it fails only where that never comes. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  seconds = 20,
): Promise<NonNullable<T>> {
  const began = performance.now();
  for (; performance.now() - began < patience(1000 * seconds); await delay(10)) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
  }
  throw new Error(`it did not come to pass in ${seconds} s: ${what}`);
}

/** Processes of this machine that have a point's mark, but for those that have ended. */
export function marked(mark: string): number[] {
  const word = `PARE_TEST_POINT=${mark}`;
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(word) &&
        isAlive({ pid, start: "" });
    } catch {
      return false; // ended meanwhile
    }
  });
}

/** What a program of a point waits for. */
type Gate = "start" | "done" | "go";

export interface FamilyProgram extends Disposable {
  readonly argv: string[];
  open(gate: Gate): void;
  /** The leader's pid, once it runs. */
  leader(): Promise<number>;
  /** Settles when every child runs. */
  up(): Promise<void>;
  /** Settles when the leader saves. */
  saving(): Promise<void>;
  /** How often it began. */
  readonly began: number;
}

/** A program in an empty folder. */
export async function familyProgram(
  folder: string,
  mark: string,
  family: Family,
): Promise<FamilyProgram> {
  mkdirSync(folder, { recursive: true });
  const script = join(folder, "leader.sh");
  writeFileSync(script, leaderOf(family));
  writeFileSync(join(folder, "child.sh"), CHILD);
  await execa("mkfifo", ["start", "done", "go"], { cwd: folder });
  const gates = new Map<Gate, Deno.FsFile>();
  const linesOf = (name: string) => {
    const path = join(folder, name);
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  };
  return {
    argv: ["env", `PARE_TEST_POINT=${mark}`, "sh", script, folder],
    open(gate) {
      // For reading, too: a pipe that nobody reads yet keeps its line then, and does not block.
      const file = Deno.openSync(join(folder, gate), { read: true, write: true });
      gates.set(gate, file);
      file.writeSync(new TextEncoder().encode("\n"));
    },
    leader: async () => Number(await until("the program begins", () => linesOf("began")[0])),
    async up() {
      await until("all children run", () => linesOf("up").length === UP);
    },
    async saving() {
      await until("the program saves", () => existsSync(join(folder, "saving")));
    },
    get began() {
      return linesOf("began").length;
    },
    [Symbol.dispose]() {
      for (const file of gates.values()) file.close();
    },
  };
}
