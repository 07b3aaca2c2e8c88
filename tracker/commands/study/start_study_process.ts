import { fileURLToPath } from "node:url";
import { execa } from "execa";
import type { StartStudy } from "../../board/queue.ts";

const ENTRY = fileURLToPath(new URL("./submitted_study.ts", import.meta.url));

/**
 * Runs `pare run` for a document. It has a process group of its own: the terminal's Ctrl-C is given to
 * the board, which stops the study once.
 */
export const startStudyProcess: StartStudy = (document, store, say) => {
  const words = ["run", "--allow-all", "--no-check", ENTRY, "run", document, "--store", store];
  const child = execa(Deno.execPath(), words, {
    ...{ reject: false, stdin: "ignore", detached: true, all: true, buffer: false },
  });
  const listen = async () => {
    for await (const line of child.iterable({ from: "all" })) say(String(line));
  };
  void listen().catch(() => {}); // what it said is lost with its end only
  return {
    done: child.then(({ exitCode }) => exitCode ?? 1),
    stop: () => void child.kill("SIGINT"),
  };
};
