/**
 * The process of a study that was submitted to a board: `pare run` on its document, under the name
 * that the board gave it.
 *
 *     deno run --allow-all submitted_study.ts run STUDIES/NAME/study.json --store STORE
 */
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { StudyRequestInput } from "../../../core/mod.ts";
import { runStudyCommand } from "./run.ts";

const [, document = "", , store = ""] = Deno.args;

try {
  const request = JSON.parse(await readFile(document, "utf8")) as StudyRequestInput; // lab.open checks it
  await runStudyCommand(
    { yes: true, store },
    (lab) => lab.open(request, basename(dirname(document))),
  );
} catch (error) {
  const usage = error instanceof Error && error.name === "UsageError";
  console.error(usage ? `pare: ${error.message}` : error);
  Deno.exit(usage ? 2 : 1);
}
