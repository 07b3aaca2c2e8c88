import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import type { StudyEvent } from "../../../core/mod.ts";
import { findHome } from "../../ground/home.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import type { StudySession } from "../../session/study_session.ts";
import { experimentsShown, membersText } from "../../show/experiments/shown.ts";
import { commandLine } from "../output/go_on.ts";
import { putInLine } from "../queue/add.ts";
import { requireQueued, runStudyCommand, type StudyCommandOptions } from "../study/run.ts";
import { type ExperimentsAsked, experimentsRequest, leftOutLines } from "./prepare_members.ts";

/** What `pare experiments` may be told. */
export interface ExperimentsOptions extends StudyCommandOptions, ExperimentsAsked {
  store?: string;
  outputDir: string;
  queue?: boolean;
  plugin?: string[];
}

/** In one step, so that a reader never meets half a file. */
async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.part`, content);
  await rename(`${path}.part`, path);
}

/** Summary, table and results as far as the members came, for one that may yet be killed. */
async function writeSoFar(session: StudySession, folder: string): Promise<void> {
  const files = experimentsShown.files(await session.view());
  for (const [name, content] of Object.entries(files)) {
    if (content !== null) await writeWhole(join(folder, name), content);
  }
}

/** `pare experiments`: every member after the other, and what they come to beside each other. */
export async function experimentsCommand(
  file: string,
  { outputDir, queue = false, experiment, all, plugin, ...options }: ExperimentsOptions,
): Promise<void> {
  const folder = resolve(outputDir);
  outsideStores(folder, "write the results to");
  const asked = {
    ...(experiment === undefined ? {} : { experiment }),
    ...(all === undefined ? {} : { all }),
    ...(plugin === undefined ? {} : { plugin }),
  };
  const { store } = findHome(Deno.env.toObject(), options.store);
  const { request, plan, study_id } = await experimentsRequest(file, asked, {
    ...{ store, env: process.env },
  });
  console.error([membersText(plan), ...leftOutLines(plan)].join("\n"));
  if (queue) requireQueued(options);
  if (queue) return void await putInLine(request, options);
  let writing = Promise.resolve();
  let session: StudySession | null = null;
  await runStudyCommand({
    ...{ ...options, output: folder, yes: true, goOn: commandLine },
    onRecord(record: Extract<StudyEvent, { event: "record" }>["record"]) {
      if (record.type !== "members_compared" || session === null) return;
      const open = session;
      writing = writing.then(() => writeSoFar(open, folder));
    },
  }, async (lab) => {
    const begun = (await lab.studies()).some((one) => one.study_id === study_id);
    session = begun ? await lab.resume(study_id) : await lab.open(request, study_id);
    return session;
  });
  await writing;
}
