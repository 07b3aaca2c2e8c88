import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** Faults of one kind of run: what all of them begin with is made with the first. */
export interface RunFaults {
  readonly name: string;
  /** Why they cannot be injected here; null: they can. */
  lacks?(): Promise<string | null>;
  /** What is injected, in words: a point each. */
  readonly points: readonly string[];
  /** Gives what does one of them and checks, each time in an empty folder. */
  open(folder: string): Promise<(point: string, folder: string) => Promise<void>>;
}

/** An empty folder below another. */
export function folderIn(...parts: string[]): string {
  const folder = join(...parts);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The number in a point's words. */
export const numberIn = (point: string): number => Number(/\d+/.exec(point)![0]);
