/** A study of given recipes in a folder of a benchmark, which goes on where it was stopped. */
import { execa } from "execa";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ActionInput, StudyRequestInput } from "../../core/mod.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Place {
  readonly home: string;
  readonly model: "demo" | "tiny";
}

export type Row = Record<string, unknown>;

async function pare({ home }: Place, words: readonly string[], shown = true): Promise<string> {
  const { stdout } = await execa(
    Deno.execPath(),
    ["run", "--allow-all", "tracker/cli.ts", ...words],
    {
      cwd: ROOT,
      env: { PARE_HOME: home, NO_COLOR: "1" },
      stdin: "ignore",
      stderr: shown ? "inherit" : "pipe",
    },
  );
  return stdout;
}

/** The rows of a query of a store. */
export async function sql(place: Place, store: string, query: string): Promise<Row[]> {
  const words = ["sql", query, "--format", "json", "--store", store];
  return JSON.parse(await pare(place, words, false));
}

/** Runs a study in a store of its own, or goes on with it; the store. */
export async function keptStudyOf(
  place: Place,
  name: string,
  request: StudyRequestInput,
): Promise<string> {
  const store = join(place.home, name);
  if (existsSync(join(store, "runs"))) {
    await pare(place, ["resume", "--store", store, "--yes"]);
    return store;
  }
  const document = join(place.home, `${name}.json`);
  await writeFile(document, JSON.stringify(request, null, 2));
  await pare(place, ["run", document, "--store", store, "--yes"]);
  return store;
}

/** Runs the recipes in full as one study in a store of its own, or goes on with it; the store. */
export async function keptStudy(
  place: Place,
  name: string,
  asked: readonly (readonly ActionInput[])[],
  more: Pick<StudyRequestInput, "runtime"> = {},
): Promise<string> {
  return await keptStudyOf(place, name, {
    ...more,
    ...{ model_name: place.model, dataset: place.model, fidelity: "full", rules: [] },
    strategies: asked.map((actions) => ({ actions: [...actions] })),
    max_trials: asked.length,
    max_full_evaluations: asked.length,
    // None is ended early: the figures of those that lose much are wanted too.
    constraints: { max_accuracy_drop: 1 },
  });
}
