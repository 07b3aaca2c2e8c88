/**
 * The program of an attempt at a queued study: `pare run` on its document, or `pare resume` where an
 * earlier attempt has begun it.
 *
 *     deno run --allow-all queued_study.ts ATTEMPT_FOLDER
 */
import { existsSync, readFileSync } from "node:fs";
import type { StudyRequestInput } from "../../../core/mod.ts";
import { readWhole, writeWhole } from "../../../python-backends/whole_file.ts";
import { SHARED_BY } from "../../artifacts/remote/shared_artifacts.ts";
import { afterwards } from "../../jobs/queue/checklist.ts";
import type { ProgressFile } from "../../jobs/queue/queue_files.ts";
import { AttemptWork } from "../../jobs/queue/queued_work.ts";
import { progressText, type StudyProgress } from "../../show/view/study_progress.ts";
import { readChecklist } from "../../store/queue/checklist_file.ts";
import { ownPaths } from "../../store/queue/queue_paths.ts";
import { runPaths } from "../../store/store_paths.ts";
import { runStudyCommand } from "./run.ts";

/** Errors that are a sentence, with the exit codes that `pare run` has for them. */
const SAID = new Map([["UsageError", 2], ["Stopped", 130]]);

const [folder = ""] = Deno.args;
const { progress, checklist, work: asked } = ownPaths(folder);

/** The share of a study that is done, by its trials or by its budget. */
function share({ done, of, seconds_left }: StudyProgress, began: number): number | null {
  const past = (performance.now() - began) / 1000;
  const byTime = seconds_left === null ? null : past / (past + seconds_left);
  const byTrials = of === null || of === 0 ? null : done / of;
  return byTime === null && byTrials === null ? null : Math.max(byTime ?? 0, byTrials ?? 0);
}

async function run(): Promise<void> {
  const work = AttemptWork.parse(readWhole(asked));
  const { store, study_id, document, cwd, artifacts } = work;
  if (artifacts !== null) Deno.env.set(SHARED_BY, artifacts);
  Deno.chdir(cwd);
  const began = performance.now();
  const onProgress = (one: StudyProgress) => {
    const file: ProgressFile = { share: share(one, began), said: progressText(one) };
    writeWhole(progress, file);
  };
  const request = JSON.parse(readFileSync(document, "utf8")) as StudyRequestInput; // lab.open checks it
  const there = existsSync(runPaths(store, study_id).journal);
  await runStudyCommand(
    { yes: true, store, onProgress },
    (lab) => there ? lab.resume(study_id) : lab.open(request, study_id),
  );
  writeWhole(checklist, { ...readChecklist(folder), after: await afterwards(work) });
}

try {
  await run();
} catch (error) {
  const code = error instanceof Error ? SAID.get(error.name) : undefined;
  console.error(code === undefined ? error : `pare: ${(error as Error).message}`);
  Deno.exit(code ?? 1);
}
Deno.exit(Number(Deno.exitCode));
