/**
 * Every page of the board and a report, light and dark, by axe-core: of the board no violation that it calls
 * serious or critical, of the report none at all, folded and opened. The board is then walked through by the keyboard alone. It needs Chromium (`apt-get install chromium`).
 */
import axe from "axe-core";
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { renderHtml } from "../../tracker/show/reports/render_html.ts";
import { frontData } from "../../tracker/show/pages/front_data.ts";
import { reportBlocks } from "../../tracker/show/reports_of_study.ts";
import { openStore } from "../../tracker/store/store.ts";
import { viewStudy } from "../../tracker/show/view/view_study.ts";
import { inBrowser, launchBrowser } from "../fixtures/chromium.ts";
import { testBoard } from "../fixtures/stores/board.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../fixtures/stores/records.ts";

/** What axe-core calls serious or critical, or all that it finds, in a line each. */
async function violations(page: Page, least: "serious" | "any"): Promise<string[]> {
  await page.evaluate(axe.source);
  return await page.evaluate(async (least) => {
    const { run } = (globalThis as unknown as { axe: typeof import("axe-core") }).axe;
    const { violations, passes } = await run(document);
    if (passes.length < 10) return [`axe-core looked at ${passes.length} rules only`];
    const counts = (impact: unknown) =>
      least === "any" || impact === "serious" || impact === "critical";
    return violations.filter(({ impact }) => counts(impact))
      .map(({ id, nodes }) =>
        `${id}: ${
          nodes.slice(0, 3).map((one) => `${one.html.slice(0, 120)} ${one.any[0]?.message ?? ""}`)
            .join(" | ")
        }`
      );
  }, least);
}

const PATHS = [
  "/",
  `/studies/${STUDY}`,
  `/studies/${STUDY}/trials/t01`,
  "/queue",
  "/compare",
  `/compare?first=${STUDY}&second=other`,
  `/sql?${new URLSearchParams({ sql: "SELECT * FROM leaderboard_wide" })}`,
  "/sql?sql=SELEC",
  "/studies/nowhere",
];

async function report(root: string, at: string): Promise<string> {
  await using store = await openStore(at, { write: false });
  const view = await viewStudy(store, STUDY);
  const path = join(root, "report.html");
  await Deno.writeTextFile(path, renderHtml("A study", reportBlocks(view), frontData(view)));
  return `file://${path}`;
}

/** By Tab alone through a page: every stop is seen, and those in the text come in its order. */
async function tabs(page: Page, address: string): Promise<void> {
  await page.goto(address);
  const stops: string[] = [];
  let above = 0;
  for (let step = 0; step < 400; step++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const at = document.activeElement;
      if (at === null || at === document.body) return null;
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      const before = document.querySelector("[data-last-stop]");
      const ordered = before === null ||
        (before.compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
      before?.removeAttribute("data-last-stop");
      at.setAttribute("data-last-stop", "");
      return { name: at.outerHTML.slice(0, 90), outlineStyle, outlineWidth, ordered };
    });
    if (stop === null || (step > 0 && stop.name === stops[0])) break; // all were passed
    assert.ok(stop.outlineStyle !== "none" && parseFloat(stop.outlineWidth) >= 1, stop.name);
    if (!stop.ordered) above++;
    stops.push(stop.name);
  }
  assert.equal(above, 0, `${address}: stops against the order of the page`);
  assert.match(stops[0] ?? "", /class="skip"/);
  assert.ok(stops.length > 5, stops.join("\n"));
}

async function look(browser: Browser, root: string): Promise<void> {
  const at = join(root, "store");
  {
    await using store = await openStore(at, { write: true });
    const records = [...studyRecords(), ...studyRecords("other")];
    await Promise.all(records.map((record) => store.record(record)));
    await store.flush({ wait_ms: 60_000 });
  }
  const file = await report(root, at);
  await using test = testBoard([at]);
  // One that runs, one in line and one that is blocked.
  const body = '{"model_name":"tiny","dataset":"tiny"}';
  for (const priority of ["P1", "P1", "P2"]) {
    await test.json(`/api/studies?priority=${priority}`, { method: "POST", body });
  }
  const jobs = (await test.json("/api/queue")).body as { study_id: string; priority: string }[];
  const last = jobs.find(({ priority }) => priority === "P2")!;
  const hold = { method: "POST", body: '{"hold":"waiting on Coding Agent"}' };
  await test.json(`/api/studies/${last.study_id}/job`, hold);
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    // The pages' own policies let nothing in, so a test has to step round them.
    const context = await browser.newContext({ colorScheme, bypassCSP: true });
    const page = await context.newPage();
    await page.goto(test.board.url);
    await page.waitForURL(`${test.address}/`);
    for (const path of PATHS) {
      await page.goto(test.address + path);
      const said = await violations(page, "serious");
      found.push(...said.map((one) => `${colorScheme} ${path}: ${one}`));
    }
    // A report goes to others: nothing at all, on a phone too, where code is wider than the page.
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await page.goto(file);
      for (const opened of [false, true]) {
        if (opened) {
          for (const one of await page.locator("details").all()) {
            await one.evaluate((part) => part.setAttribute("open", ""));
          }
        }
        const said = await violations(page, "any");
        found.push(...said.map((one) => `${colorScheme} report.html, ${width} wide: ${one}`));
      }
    }
    await page.setViewportSize({ width: 1280, height: 720 });
    if (colorScheme === "light") {
      for (const path of PATHS.slice(0, 6)) await tabs(page, test.address + path);
    }
    await context.close();
  }
  assert.deepEqual(found, []);
}

Deno.test({
  name: "Pages for everybody",
  ...inBrowser(),
  fn: () =>
    inDirectory(async (root) => {
      await using browser = await launchBrowser();
      await look(browser, root);
    }),
});
