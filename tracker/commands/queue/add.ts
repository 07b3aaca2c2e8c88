import { jobNamed, type Slots, type Submission, UsageError } from "../../../core/mod.ts";
import { checkHome, findHome } from "../../ground/home.ts";
import { parseBytes, parseDuration } from "../../ground/terminal/parse_values.ts";
import { submitStudy } from "../../jobs/queue/submit.ts";
import { readAsked } from "../experiments/read_asked.ts";
import { studyFromOptions } from "../input/study_document.ts";
import type { RunOptions } from "../study/study_options.ts";
import { queuePlace } from "./queue_place.ts";
import { notDriven } from "./work.ts";

/** Where in line a study goes, as options say it. */
export interface PlaceOptions {
  store?: string;
  priority?: Submission["priority"];
  title?: string;
  after?: string[];
  afterMet?: string[];
  success?: string[];
  engine?: string;
  engines?: string;
  slots?: string;
  estimate?: string;
  hold?: string;
  anyway?: boolean;
}

/** Slots as a person writes them: `cpu=4,gpu=1,memory=32GB`. */
function parseSlots(text: string): Slots {
  const slots = { cpu: 0, gpu: 0, memory_gb: null as number | null };
  for (const part of text.split(",")) {
    const [name = "", value = ""] = part.split("=").map((word) => word.trim());
    if (name === "memory") slots.memory_gb = parseBytes(value, "--slots") / 1e9;
    else if ((name === "cpu" || name === "gpu") && /^\d+$/.test(value)) slots[name] = Number(value);
    else {
      throw new UsageError(
        `Cannot take --slots ${text}: write cpu=N, gpu=N and memory=SIZE, such as cpu=4,gpu=1,memory=32GB`,
      );
    }
  }
  return slots;
}

function afterOf({ after = [], afterMet = [] }: PlaceOptions): Submission["after"] {
  return [
    ...after.map((job_id) => ({ job_id, met: false })),
    ...afterMet.map((job_id) => ({ job_id, met: true })),
  ];
}

/** Puts a document in line and says so; gives the job. */
export async function putInLine(given: unknown, options: PlaceOptions): Promise<string> {
  const { paths, disk } = queuePlace(options.store);
  await checkHome(findHome(Deno.env.toObject(), options.store), true);
  for (const job of [...options.after ?? [], ...options.afterMet ?? []]) {
    jobNamed(disk.current(), job); // before anything is written
  }
  const { job_id, study_id, unseen } = await submitStudy(disk, paths, given, {
    ...(options.priority === undefined ? {} : { priority: options.priority }),
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.success === undefined ? {} : { success: options.success }),
    ...(options.engine === undefined ? {} : { engine: options.engine }),
    ...(options.engines === undefined ? {} : { engines: options.engines }),
    ...(options.anyway === undefined ? {} : { anyway: options.anyway }),
    ...(options.hold === undefined ? {} : { hold: options.hold }),
    ...(options.estimate === undefined
      ? {}
      : { estimate_seconds: parseDuration(options.estimate, "--estimate") }),
    after: afterOf(options),
    ...(options.slots === undefined ? {} : { slots: parseSlots(options.slots) }),
  });
  console.log(`${job_id} is in line as ${study_id}`);
  if (unseen !== undefined) console.error(`note: ${unseen}`);
  const nobody = notDriven(paths);
  if (nobody !== null) console.log(nobody);
  return job_id;
}

/** `pare queue add`: a study in line, from options, a document, or both. */
export async function addToQueueCommand(
  file: string | undefined,
  options: RunOptions & PlaceOptions,
): Promise<void> {
  await putInLine(studyFromOptions(options, await readAsked(file, options.store)), options);
}
