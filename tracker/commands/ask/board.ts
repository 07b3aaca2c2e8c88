import { execa } from "execa";
import { resolve } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { BoardQueue } from "../../board/board_queue.ts";
import { startBoard } from "../../board/server.ts";
import { findHome } from "../../ground/home.ts";
import { enginesFor, programOf } from "../queue/work.ts";

export interface BoardCommandOptions {
  store?: string[];
  port?: string;
  /** False where `--no-open` is given. */
  open?: boolean;
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`Cannot take --port as a whole number from 0 to 65535: it is "${text}"`);
}

/** Opens the page where there is somebody to see it; the address is printed in any case. */
function openBrowser(url: string): void {
  const command = Deno.build.os === "darwin" ? "open" : "xdg-open";
  void execa(command, [url], { reject: false, stdio: "ignore", detached: true }).catch(() => {});
}

/** Resolves at Ctrl-C; a second one ends the process. */
function interrupted(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let again = false;
  const stop = () => {
    if (again) Deno.exit(130);
    again = true;
    resolve();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  return promise;
}

/** `pare board`: stores as a page and as JSON, on this machine alone, until Ctrl-C. */
export async function boardCommand(options: BoardCommandOptions): Promise<void> {
  const home = findHome(Deno.env.toObject());
  const stores = [...new Set((options.store ?? [home.store]).map((one) => resolve(one)))];
  const queue = new BoardQueue(stores, { engines: (paths) => enginesFor(paths), programOf });
  queue.drive();
  const board = startBoard({
    ...{ stores, queue },
    ...(options.port === undefined ? {} : { port: portOf(options.port) }),
  });
  const stop = interrupted();
  console.log(board.url);
  console.error("Ctrl-C ends it. Whoever has this address may read the store and start studies.");
  const seen = Deno.stdout.isTerminal() && (Deno.env.get("DISPLAY") ?? "") !== "";
  if (options.open !== false && (seen || Deno.build.os === "darwin")) openBrowser(board.url);
  await stop;
  const left = await board.close();
  for (const { job_id, state } of left) {
    const goes = state === "waiting" ? "waits in line" : "goes on";
    console.error(`${job_id} ${goes}: \`pare queue work\` or the next board has it`);
  }
}
