/**
 * The process of a study that was submitted to a board: `pare run` on its document, under the name
 * that the board gave it. How it stands is in the folder beside the document.
 *
 *     deno run --allow-all submitted_study.ts run STUDIES/NAME/study.json --store STORE
 */
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { StudyRequestInput } from "../../../core/mod.ts";
import { beChild } from "../../../python-backends/child/be_child.ts";
import { Asked, type Ended, processFolder } from "../../board/submission.ts";
import { runStudyCommand } from "./run.ts";

const [, document = "", , store = ""] = Deno.args;
const study = dirname(document);

const own = beChild(
  processFolder(dirname(study), basename(study)),
  () => Deno.kill(Deno.pid, "SIGINT"), // as Ctrl-C: what runs is recorded as cancelled
);

/** Errors that are a sentence, with the exit codes that `pare run` has for them. */
const SAID = new Map([["UsageError", 2], ["Stopped", 130]]);

/** Ends with this code, which is written down. */
function end(exit_code: number, reason: string): never {
  const value: Ended = { exit_code };
  own.finish(exit_code === 0 ? { ok: true, value } : { ok: false, reason, value });
  Deno.exit(exit_code);
}

try {
  const { study_id } = Asked.parse(own.request);
  const request = JSON.parse(await readFile(document, "utf8")) as StudyRequestInput; // lab.open checks it
  await runStudyCommand({ yes: true, store }, (lab) => lab.open(request, study_id));
} catch (error) {
  const code = error instanceof Error ? SAID.get(error.name) : undefined;
  console.error(code === undefined ? error : `pare: ${(error as Error).message}`);
  end(code ?? 1, String(error));
}
end(Number(Deno.exitCode), "it was stopped");
