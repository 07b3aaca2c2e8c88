import { resolve } from "node:path";
import { z } from "zod";
import type { AttemptFiles, AttemptKey, AttemptSeen, Engine, Job } from "../../../core/mod.ts";
import { readWhole, writeWhole } from "../../../python-backends/whole_file.ts";
import { openArtifactStore } from "../../artifacts/artifact_store.ts";
import { isPath } from "../../artifacts/remote/given.ts";
import { SHARED_BY, shareNamed } from "../../artifacts/remote/shared_artifacts.ts";
import { findHome } from "../../ground/home.ts";
import { seenAttempt } from "../attempt/attempt_state.ts";
import { closeAttempt, watchLeases } from "../attempt/lease.ts";
import { beforehand } from "./checklist.ts";
import {
  attemptFolder,
  jobDocument,
  ownPaths,
  type QueuePaths,
} from "../../store/queue/queue_paths.ts";
import { type AttemptWork, QueuedWork } from "./queued_work.ts";

/** How far an attempt is, in its folder, by its own program. */
const ProgressFile = z.object({
  share: z.number().min(0).max(1).nullable().describe(
    "that is done; null: nobody can know yet",
  ),
  said: z.string().describe("such as `trial 2 of 5 (t02), at most 6 min left`"),
});
export type ProgressFile = z.infer<typeof ProgressFile>;

/** Null: it told nothing, or the file is damaged. */
export function readProgress(folder: string): ProgressFile | null {
  return ProgressFile.safeParse(readWhole(ownPaths(folder).progress)).data ?? null;
}

/** The code of a study's process that was stopped in good order. */
const STOPPED = 130;

/** A study says by its code whether it came to its end, whoever asked it to stop meanwhile. */
function look(folder: string, leases: ReturnType<typeof watchLeases>): AttemptSeen {
  const seen = seenAttempt(folder, leases);
  const progress = readProgress(folder)?.share ?? null;
  const { result } = seen;
  if (result?.how === "saved" && result.code === 0) {
    return { ...seen, progress, result: { ...result, how: "done" } };
  }
  if (result?.how === "failed" && result.code === STOPPED) {
    const reason = "it was stopped where it runs";
    return { ...seen, progress, result: { ...result, how: "saved", reason } };
  }
  return { ...seen, progress };
}

/** Sends what a job names and lies here to its engine's object store, for machines that lack it. */
async function shareInputs({ store, cwd, model_name, dataset }: AttemptWork, artifacts: string) {
  const env = Deno.env.toObject();
  using here = await openArtifactStore(findHome(env, store).artifacts);
  const named = [model_name, dataset].filter(isPath).map((name) =>
    name.startsWith("~") ? name : resolve(cwd, name)
  );
  await shareNamed(here, named, { ...env, [SHARED_BY]: artifacts });
}

/** The words that run the work of an attempt's folder. */
export type ProgramOf = (folder: string) => string[];

/** The folders of a queue's attempts at these engines. */
export function queueFiles(
  paths: QueuePaths,
  programOf: ProgramOf,
  engines: readonly Pick<Engine, "name" | "artifacts">[],
): AttemptFiles {
  const leases = watchLeases();
  const folderOf = ({ job_id, attempt }: AttemptKey) => attemptFolder(paths, job_id, attempt);
  return {
    async prepare(job: Job, attempt: number, id: string) {
      const folder = folderOf({ job_id: job.job_id, attempt });
      const work: AttemptWork = {
        ...QueuedWork.parse(job.work),
        store: paths.store,
        document: jobDocument(paths, job.asked.submission_id),
        artifacts: engines.find(({ name }) => name === job.attempts[attempt - 1]?.engine)
          ?.artifacts ?? null,
      };
      if (work.artifacts !== null) await shareInputs(work, work.artifacts);
      const lines = await beforehand(folder, work, paths, job.slots);
      writeWhole(ownPaths(folder).checklist, { before: lines });
      const lacking = lines.find(({ ok }) => ok === false);
      if (lacking !== undefined) return lacking.said;
      writeWhole(ownPaths(folder).work, work);
      return { id, attempt, folder, argv: programOf(folder), env: {} };
    },
    look: (keys) => Promise.resolve(keys.map((key) => look(folderOf(key), leases))),
    close: (key) => Promise.resolve(closeAttempt(folderOf(key))),
  };
}
