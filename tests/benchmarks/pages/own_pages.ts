import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { openStore } from "../../../tracker/store/store.ts";
import { studyOpened } from "../../fixtures/stores/records.ts";
import { pareWords, startProgram } from "../../fixtures/programs.ts";
import { recordsOf } from "./many_trials.ts";

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Chromium, if it is installed: without one only the server's answers are timed. */
export async function ownBrowser(): Promise<Browser | null> {
  const executablePath = BROWSERS.find((path) => existsSync(path));
  return executablePath === undefined
    ? null
    : await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

export interface BoardProcess extends AsyncDisposable {
  /** Its printed address, which holds the token. */
  readonly url: string;
  readonly address: string;
  readonly token: string;
}

/** `pare board` over a store, as somebody at a terminal starts it. */
export async function boardProcess(store: string): Promise<BoardProcess> {
  const child = startProgram(pareWords("board", "--store", store, "--port", "0", "--no-open"));
  const url = await child.line();
  if (url === null) {
    throw new Error("Cannot time the board: it ended before it printed its address");
  }
  const { origin, searchParams } = new URL(url);
  return {
    ...{ url, address: origin, token: searchParams.get("token")! },
    async [Symbol.asyncDispose]() {
      child.signal("SIGTERM");
      await child.exited;
    },
  };
}

/** Seconds until the whole answer is there. */
export async function answerSeconds(board: BoardProcess, path: string): Promise<number> {
  const started = performance.now();
  const response = await fetch(board.address + path, {
    headers: { authorization: `Bearer ${board.token}` },
  });
  const body = await response.text();
  if (!response.ok) {
    throw new Error(`Cannot time ${path}: ${response.status} ${body.slice(0, 200)}`);
  }
  return (performance.now() - started) / 1000;
}

/** What a reader waits for, in seconds from the click. */
export interface FirstView {
  /** Something of the page is painted. */
  readonly painted: number;
  /** The table of trials is there and the front is drawn. */
  readonly whole: number;
}

/** A page of a study in a browser that has let itself in already. */
export async function firstView(page: Page, address: string): Promise<FirstView> {
  await page.goto(address, { waitUntil: "commit" });
  await page.locator("[data-pare-drawn] svg a").first().waitFor({ state: "attached" });
  const figures = await page.waitForFunction(() => {
    const [painted] = performance.getEntriesByName("first-contentful-paint");
    const [drawn] = performance.getEntriesByName("front drawn"); // set by the page's script
    if (painted === undefined || drawn === undefined) return null;
    const ends = [painted.startTime, drawn.startTime].map((one) => one / 1000);
    return { painted: ends[0]!, whole: Math.max(...ends) };
  });
  return (await figures.jsonValue())!;
}

/**
 * Seconds from the moment at which a record is on disk until the open page shows its event. The clock is
 * this machine's, of both processes.
 */
export async function eventSeconds(
  page: Page,
  board: BoardProcess,
  root: string,
  study_id: string,
  repeats: number,
): Promise<number[]> {
  await using store = await openStore(root, { write: true });
  await store.record(studyOpened(study_id));
  await store.flush({ wait_ms: 60_000 });
  await page.goto(`${board.address}/studies/${study_id}`);
  await page.locator(".events[data-following]").waitFor({ state: "attached" });
  await page.evaluate(() => {
    const seen: [string, number][] = [];
    Object.assign(globalThis, { seen });
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) {
        for (const node of addedNodes) seen.push([node.textContent ?? "", Date.now()]);
      }
    }).observe(document.querySelector(".events")!, { childList: true });
  });
  const seconds: number[] = [];
  for (let number = 0; number < repeats; number++) {
    const records = recordsOf(study_id, number);
    await Promise.all(records.slice(0, -1).map((record) => store.record(record)));
    const written = Date.now();
    const name = `t${String(number).padStart(2, "0")} is completed`;
    const shown = await page.waitForFunction(
      (name) =>
        (globalThis as unknown as { seen: [string, number][] }).seen
          .find(([text]) => text.includes(name))?.[1],
      name,
      { polling: 20 },
    );
    seconds.push((await shown.jsonValue() as number - written) / 1000);
    await store.record(records.at(-1)!);
    await new Promise((resolve) => setTimeout(resolve, 137 * (number % 5))); // not in step with the board
  }
  return seconds;
}

export interface Written {
  readonly seconds: number;
  readonly bytes: number;
}

/** `pare report` of a study, from the command's start to its end, and the size of the page. */
export async function reportWritten(store: string, study_id: string, output: string) {
  const started = performance.now();
  const words = pareWords("report", study_id, "--store", store, "--output", output);
  const { code } = await startProgram(words).exited;
  const seconds = (performance.now() - started) / 1000;
  if (code !== 0) throw new Error(`Cannot time the report of ${study_id}: it ended with ${code}`);
  return { seconds, bytes: statSync(join(output, "report.html")).size } satisfies Written;
}
