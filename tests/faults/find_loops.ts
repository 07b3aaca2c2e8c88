import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { unknownName, UsageError } from "../../core/mod.ts";
import type { Loop } from "./loop.ts";

const FOLDER = join(import.meta.dirname!, "loops");

function isLoop(value: unknown): value is Loop {
  return typeof value === "object" && value !== null && "about" in value && "reaches" in value &&
    "open" in value;
}

/** Every loop of `loops/`, by its file's name: a file there exports one. */
export async function findLoops(): Promise<Loop[]> {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".ts")).sort();
  return await Promise.all(names.map(async (name) => {
    const exported = Object.values(await import(pathToFileURL(join(FOLDER, name)).href));
    const loops = exported.filter(isLoop);
    if (loops.length === 1) return loops[0]!;
    throw new Error(`tests/faults/loops/${name} exports ${loops.length} loops: export one`);
  }));
}

/** @throws UsageError where no loop has that name. */
export function loopNamed(loops: readonly Loop[], name: string): Loop {
  const found = loops.find((loop) => loop.name === name);
  if (found !== undefined) return found;
  throw new UsageError(unknownName("loop", name, loops.map((loop) => loop.name)));
}
