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
  /** Starts as the product does in what a fault left, and checks; `fault`: what the workload said at last. */
  check(folder: string, acknowledged: readonly string[], nth: number): Promise<void>;
}

/** Says that something is done for certain, in one call. */
export function acknowledge(said: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`ACK ${said}\n`));
}

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
