import { dirname, join } from "node:path";
import { syncFolder } from "../../../python-backends/whole_file.ts";

/** Does a part of the product's work below a folder, and says what it acknowledges. */
export interface Workload {
  readonly name: string;
  /** The file whose main part runs it in a process of its own, with the folder as argument. */
  readonly script: string;
  /** Whether all that must hold where less is acknowledged must hold where more is, too. */
  readonly adds_up: boolean;
  /** Lays what it begins with into an empty folder: this is safe from every fault. */
  prepare?(folder: string): Promise<void>;
  /** Whether what a fault left lags behind what it follows: such as a mirror behind its journal. */
  isBehind?(folder: string): boolean;
  /** Starts as the product does in what a fault left, and checks; `hit`: a call failed, and did not cut it off. */
  check(folder: string, acknowledged: readonly string[], nth: number, hit?: Hit): Promise<void>;
}

/** How a call that failed was met. */
interface Hit {
  /** What the workload announced: it may have taken another course than without a fault. */
  readonly sent: readonly string[];
  /** The call said that it did what it did not. */
  readonly lied: boolean;
}

const say = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

/** Says that something is done for certain, in one call. */
export const acknowledge = (said: string): void => void say(`ACK ${said}`);

/** Says what is to be done next. */
export const announce = (said: string): void => void say(`SENT ${said}`);

/** Of what was acknowledged in a form such as `record 3`, the numbers. */
export function numbersOf(acknowledged: readonly string[], word: string): number[] {
  return acknowledged.flatMap((said) => {
    const [, number] = new RegExp(`^${word} (\\d+)$`).exec(said) ?? [];
    return number === undefined ? [] : [Number(number)];
  });
}

/** A folder that was there before, with its name: what a workload does begins below it. */
export function standing(...parts: string[]): string {
  const folder = join(...parts);
  Deno.mkdirSync(folder, { recursive: true });
  syncFolder(dirname(folder));
  return folder;
}

/** Does something in an empty folder beside another, which goes with it. */
export async function inEmpty(beside: string, work: (folder: string) => unknown): Promise<void> {
  const folder = `${beside}.empty`;
  Deno.mkdirSync(folder);
  await work(folder);
  Deno.removeSync(folder, { recursive: true });
}
