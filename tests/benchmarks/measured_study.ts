import { execa } from "execa";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type JournalRecord, unknownName, UsageError } from "../../core/mod.ts";
import { findHome, type Home } from "../../tracker/ground/home.ts";
import { openStore, type Store } from "../../tracker/store/store.ts";
import { METHODS } from "./bare_methods.ts";
import { benchmarkHome } from "./benchmark_home.ts";
import { buildView } from "../../tracker/show/view/build_view.ts";
import type { StudyView } from "../../tracker/show/view/study_view.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A finished study with what its journal holds. */
export interface MeasuredStudy {
  readonly home: Home;
  readonly store_root: string;
  readonly records: readonly JournalRecord[];
  readonly view: StudyView;
  /** Wall seconds of the command that ran it; null where it was run before. */
  readonly command_seconds: number | null;
  /** Load average before it ran; null where it was run before. */
  readonly load: number | null;
}

async function studyId(store: Store, wanted: string | undefined): Promise<string> {
  const ids = (await store.studies()).map(({ study_id }) => study_id);
  const found = wanted === undefined ? ids.at(-1) : ids.find((id) => id === wanted);
  if (found !== undefined) return found;
  throw new UsageError(
    wanted === undefined
      ? `Cannot find a study in ${store.paths.root}`
      : unknownName("study", wanted, ids),
  );
}

/** Reads a finished study; the store may be in use by others. */
export async function readStudy(
  home: Home,
  wanted?: string,
): Promise<Omit<MeasuredStudy, "command_seconds" | "load">> {
  await using store = await openStore(home.store, { write: false });
  await store.flush();
  const study_id = await studyId(store, wanted);
  const records = await store.journalOf(study_id);
  // Without samples: the probability of being on the front is not asked for here.
  const view = await buildView(study_id, records, () => Promise.resolve(null));
  return { home, store_root: store.paths.root, records, view };
}

/** Of the methods and in the runtime that the bare script knows, so that it can repeat every trial. */
const DEMO = [
  ...["run", "--model", "demo", "--dataset", "demo", "--max-trials", "5", "--budget", "600s"],
  ...["--methods", METHODS.join(","), "--runtime", "openvino", "--yes"],
];
/** The same line on the model that is trained in seconds: to try the benchmark itself. */
const QUICK = [
  ...["run", "--model", "tiny", "--dataset", "tiny", "--max-trials", "3"],
  ...["--methods", METHODS.join(","), "--runtime", "openvino", "--yes"],
];

/**
 * Runs the demo as a user does and gives its study to `use`; what it wrote is removed but with
 * `keep`. With `quick` the model is the tiny one.
 */
export async function withDemo<T>(
  { quick, keep }: { readonly quick: boolean; readonly keep: boolean },
  use: (study: MeasuredStudy) => Promise<T>,
): Promise<T> {
  const root = await benchmarkHome(`run-${process.pid}`);
  try {
    const load = Deno.loadavg()[0]!;
    const started = performance.now();
    const words = ["run", "--allow-all", "tracker/cli.ts", ...(quick ? QUICK : DEMO)];
    await execa(Deno.execPath(), words, {
      cwd: ROOT,
      env: { PARE_HOME: root },
      stdin: "ignore",
      stdout: [{ file: join(root, "stdout.txt") }],
      stderr: "inherit",
    });
    const command_seconds = (performance.now() - started) / 1000;
    const study = await readStudy(findHome({ ...Deno.env.toObject(), PARE_HOME: root }));
    const { stop, message } = study.view;
    if (stop === null || stop === "cancelled" || stop === "failed") {
      throw new Error(`Cannot measure the demo as it did not end by itself: ${message ?? stop}`);
    }
    return await use({ ...study, command_seconds, load });
  } finally {
    if (keep) console.error(`bench: kept; look at it with PARE_HOME=${root}`);
    else await rm(root, { recursive: true, force: true });
  }
}
