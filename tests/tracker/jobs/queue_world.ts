/** A queue that tests drive really: its journal, this machine's slots, wrappers, and a program in place of studies. */
import { join } from "node:path";
import type { Job, Queue } from "../../../core/mod.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { type DriveOptions, driveQueue } from "../../../tracker/jobs/queue/drive_queue.ts";
import { type QueueOptions, submitStudy } from "../../../tracker/jobs/queue/submit.ts";
import { QueueDisk } from "../../../tracker/store/queue/queue_disk.ts";
import { type QueuePaths, queuePaths } from "../../../tracker/store/queue/queue_paths.ts";

/**
 * Stands for a study of so many trials. 1: it ends at once. 2: it goes on until it is asked to end, and a
 * later attempt ends at once. 3: its words are wrong.
 * 4: as 2, and the first attempt starts what PARE_TEST_HANGS names.
 */
const SCRIPT = `
  const [folder] = Deno.args;
  const { document } = JSON.parse(Deno.readTextFileSync(folder + "/work.json"));
  const { max_trials } = JSON.parse(Deno.readTextFileSync(document));
  if (max_trials === 3) { console.log("pare: Cannot do that"); Deno.exit(2); }
  if (max_trials === 4 && folder.endsWith("attempt-1")) {
    const [python, file] = Deno.env.get("PARE_TEST_HANGS").split(" ");
    const stderr = { stderr: "inherit", stdout: "inherit" };
    new Deno.Command(python, { args: [file], ...stderr }).spawn();
  }
  if (max_trials === 1 || !folder.endsWith("attempt-1")) Deno.exit(0);
  Deno.addSignalListener("SIGINT", () => Deno.exit(130));
  setInterval(() => {}, 1000);`;

interface World {
  readonly store: string;
  readonly paths: QueuePaths;
  readonly disk: QueueDisk;
  submit(max_trials: number, options?: Partial<QueueOptions>): Promise<string>;
  /** Drives the queue until it is idle, or as long as `work` takes. */
  drive(work?: () => Promise<void>, more?: Partial<DriveOptions>): Promise<Queue>;
  job(job_id: string): Job;
}

/** A queue in a folder, with an engine of one slot on this machine. */
export async function queueWorld(root: string): Promise<World> {
  const store = join(root, "store");
  const paths = queuePaths(store);
  const disk = new QueueDisk(paths.journal);
  const script = join(root, "program.ts");
  await Deno.mkdir(root, { recursive: true });
  await Deno.writeTextFile(script, SCRIPT);
  const slots = { cpu: 1, gpu: 0, memory_gb: null };
  return {
    ...{ store, paths, disk },
    async submit(max_trials, options = {}) {
      const document = { model_name: "tiny", dataset: "tiny", max_trials };
      return (await submitStudy(disk, paths, document, { slots, ...options })).job_id;
    },
    async drive(work, more = {}) {
      const engine = new LocalEngine(paths.books, { slots, cards: [], machine: "test" });
      const engines = [Object.assign(engine, { artifacts: "s3://models/pare" })];
      const ending = new AbortController();
      const driving = driveQueue({
        ...{ paths, engines, signal: ending.signal, until_idle: work === undefined },
        ...more,
        programOf: (folder) => [Deno.execPath(), "run", "-A", "--no-check", script, folder],
      });
      if (work !== undefined) {
        await work();
        ending.abort();
      }
      await driving;
      return disk.current();
    },
    job: (job_id) => disk.current().jobs.get(job_id)!,
  };
}
