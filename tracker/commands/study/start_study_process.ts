import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startChildIn } from "../../../python-backends/child/child_folder.ts";
import type { StartStudy } from "../../board/queue.ts";

const ENTRY = fileURLToPath(new URL("./submitted_study.ts", import.meta.url));

/**
 * Runs `pare run` for a document. The terminal's Ctrl-C is given to the board, which stops the study
 * once; a study whose board is killed stops by itself, in the same way.
 */
export const startStudyProcess: StartStudy = (asked, folder) => {
  const document = join(dirname(folder), "study.json");
  const words = ["run", document, "--store", asked.store];
  const child = startChildIn(folder, {
    argv: [Deno.execPath(), "run", "--allow-all", "--no-check", ENTRY, ...words],
    request: asked,
  });
  return {
    done: child.exited.then(({ code }) => code ?? 1),
    stop: () => child.signal("SIGINT"),
  };
};
