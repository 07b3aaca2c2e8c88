/**
 * The board in a real browser: names that would run a script, live events, keyboard, a phone, the dark,
 * and pages of another address. It needs Chromium (`apt-get install chromium`).
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { JournalRecord } from "../../core/mod.ts";
import type { Store } from "../../tracker/store/store.ts";
import { inBrowser, launchBrowser } from "../fixtures/chromium.ts";
import { type TestBoard, testBoard } from "../fixtures/stores/board.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { STUDY, studyRecords, trialRecords } from "../fixtures/stores/records.ts";
import { recordedStore } from "../fixtures/stores/recorded.ts";

const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>'`;

/** A browser that came in by the printed address; whatever goes wrong on a page is collected. */
async function visitor(browser: Browser, test: TestBoard, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const wrong: string[] = [];
  page.on("dialog", (dialog) => {
    wrong.push(`a script ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") wrong.push(`${message.text()} ${message.location().url}`);
  });
  await page.goto(test.board.url);
  await page.waitForURL(`${test.address}/`); // the token is in the address no more
  return { context, page, wrong };
}

async function namesRunNothing(page: Page, test: TestBoard): Promise<void> {
  assert.equal(await page.locator("h1").innerText(), "Studies");
  await page.getByRole("link", { name: HOSTILE }).click();
  assert.equal(await page.locator("h1").innerText(), HOSTILE);
  await page.locator("[data-pare-drawn] svg a").first().waitFor();
  await page.getByRole("link", { name: "t01", exact: true }).first().click();
  await page.getByRole("heading", { name: "Recipe" }).waitFor();
  await page.goto(
    `${test.address}/sql?${new URLSearchParams({
      sql: `SELECT '${HOSTILE.replaceAll("'", "''")}' AS x`,
    })}`,
  );
  assert.equal(await page.locator("[data-answer] td").innerText(), HOSTILE);
}

/** By keyboard alone: past the navigation, through the points of the front, to a trial. */
async function keyboard(page: Page, test: TestBoard): Promise<void> {
  await page.goto(`${test.address}/studies/${STUDY}`);
  await page.keyboard.press("Tab");
  assert.equal(await page.locator(":focus").innerText(), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(":focus").getAttribute("id"), "main");
  const point = page.locator("[data-pare-drawn] svg a").first();
  await point.waitFor();
  assert.match(await point.getAttribute("aria-label") ?? "", /t0\d: .*accuracy 0\.\d+, latency/);
  await point.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/trials\/t0\d$/);
  for (const path of ["/", `/studies/${STUDY}`, "/compare", "/sql"]) {
    await page.goto(test.address + path);
    const unnamed = await page.locator("input, select, textarea, button").evaluateAll((all) =>
      all.filter((one) =>
        !(one as HTMLInputElement).labels?.length && one.getAttribute("aria-label") === null &&
        one.textContent === ""
      ).map((one) => one.outerHTML)
    );
    assert.deepEqual(unnamed, [], path);
    assert.equal(await page.locator("main, nav[aria-label=Main], h1").count(), 3, path);
  }
}

/** Weights and axes stand in the address: who gets the link sees the same. */
async function weightsAndAxes(page: Page, context: BrowserContext, test: TestBoard): Promise<void> {
  await page.goto(`${test.address}/studies/${STUDY}`);
  await page.getByLabel("Cost").selectOption("size_bytes");
  await page.getByLabel("accuracy", { exact: false }).and(page.locator("[type=range]")).fill("1");
  const choice = (page: Page) =>
    page.locator("[data-pare-choice]").filter({ hasText: "These weights" });
  await choice(page).waitFor();
  const other = await context.newPage();
  await other.goto(page.url());
  await choice(other).waitFor();
  assert.equal(await choice(other).innerText(), await choice(page).innerText());
  assert.equal(await other.getByLabel("Cost").inputValue(), "size_bytes");
  const words = (text: string | RegExp) =>
    other.locator("[data-pare-drawn] svg text").filter({ hasText: text });
  await words("better: size on disk").waitFor();
  assert.equal(await words("× the baseline's").count(), 0, "one cost alone");
  await other.getByLabel("Cost").selectOption("latency_ratio");
  await words("× the baseline's").waitFor();
  assert.match(await words("allowed drop").innerHTML(), /allowed drop 0\.\d+/);
  const title = await other.locator("[data-pare-drawn] svg title").first().innerHTML();
  assert.ok(title.length > 0);
  await other.getByLabel("less the baseline's").uncheck();
  await words(/better: accuracy$/).waitFor();
  assert.equal(await words("allowed drop").count(), 1, "the limit is there on either scale");
  await other.close();
}

async function brushes(page: Page, test: TestBoard): Promise<void> {
  await page.goto(`${test.address}/studies/${STUDY}`);
  await page.locator("[data-pare-drawn] svg a").first().waitFor();
  const svg = page.locator("[data-pare-drawn] > svg");
  await svg.scrollIntoViewIfNeeded();
  const box = (await svg.boundingBox())!;
  await page.mouse.move(box.x + 70, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + box.height - 2, { steps: 4 });
  await page.mouse.up();
  assert.match(await page.locator("[data-pare-selection]").innerText(), /^4 selected/);
}

async function liveEvents(page: Page, test: TestBoard, store: Store): Promise<void> {
  await page.goto(`${test.address}/studies/live`);
  assert.equal(await page.locator("#trials").count(), 1);
  await page.locator(".events[data-following]").waitFor({ state: "attached" });
  const figures = { number: 0, accuracy: 0.8, latency_ms: 10, size_bytes: 200_000 };
  for (const record of trialRecords({ ...figures, study_id: "live" })) await store.record(record);
  await page.locator(".events li").filter({ hasText: "t00 is completed" }).waitFor();
  await page.locator("[data-live=trials] td").filter({ hasText: "0.800" }).waitFor();
}

async function keepsNotes(page: Page, test: TestBoard): Promise<void> {
  await page.goto(`${test.address}/studies/${STUDY}`);
  await page.getByLabel("A note").fill("<b>worth a look</b> #keep");
  await page.getByRole("button", { name: "Keep" }).click();
  await page.locator(".tags span").filter({ hasText: "#keep" }).waitFor();
  assert.equal(await page.getByText("<b>worth a look</b> #keep").count(), 1);
}

/** No page is wider than a phone; the dark is dark. */
async function phoneInTheDark(browser: Browser, test: TestBoard): Promise<string[]> {
  const options = { viewport: { width: 390, height: 844 }, colorScheme: "dark" as const };
  const { page, context, wrong } = await visitor(browser, test, options);
  const sql = new URLSearchParams({ sql: "SELECT * FROM leaderboard_wide" });
  for (const path of ["/", `/studies/${STUDY}`, `/studies/${STUDY}/trials/t01`, `/sql?${sql}`]) {
    await page.goto(test.address + path);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.equal(width, 390, path);
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(paper, "rgb(20, 24, 29)");
  }
  await context.close();
  return wrong;
}

/** A page of another port, which a browser takes for the same site, reads and writes nothing. */
async function otherPages(context: BrowserContext, test: TestBoard): Promise<void> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () =>
      new Response("<!doctype html><title>other</title>", {
        headers: { "content-type": "text/html" },
      }),
  );
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${server.addr.port}/`);
  const statuses: number[] = [];
  page.on("response", (answer) => {
    if (answer.url().startsWith(test.address)) statuses.push(answer.status());
  });
  const told = await page.evaluate(async (address) => {
    const read = await fetch(`${address}/api/studies`, { credentials: "include" })
      .then(() => "read", () => "refused");
    const init = { credentials: "include", mode: "no-cors", method: "POST" } as const;
    await fetch(`${address}/api/studies/demo-1/notes`, {
      ...init,
      body: '{"text":"written by another page"}',
    })
      .catch(() => {}); // the answer may not even be looked at
    const frame = document.createElement("iframe");
    frame.src = `${address}/`;
    document.body.append(frame);
    await new Promise((resolve) => frame.addEventListener("load", resolve));
    return read;
  }, test.address);
  assert.equal(told, "refused");
  assert.ok(statuses.length >= 1 && statuses.every((status) => status === 403), String(statuses));
  // What a frame shows is the refusal, or the browser's own page: nothing of the store.
  const framed = await page.frameLocator("iframe").locator("body").innerText();
  assert.equal(framed.includes(STUDY), false, framed);
  const { body } = await test.json(`/api/studies/${STUDY}`);
  assert.equal(JSON.stringify(body).includes("written by another page"), false);
  await page.close();
  await server.shutdown();
}

async function walk(browser: Browser, test: TestBoard, store: Store): Promise<void> {
  const { page, context, wrong } = await visitor(browser, test);
  await namesRunNothing(page, test);
  await keyboard(page, test);
  await weightsAndAxes(page, context, test);
  await brushes(page, test);
  await liveEvents(page, test, store);
  assert.deepEqual(wrong, []);
  await otherPages(context, test);
  assert.deepEqual(await phoneInTheDark(browser, test), []);
}

Deno.test({
  name: "The board in a browser",
  ...inBrowser(),
  fn: () =>
    inDirectory(async (root) => {
      const at = join(root, "store");
      const records: JournalRecord[] = [
        ...studyRecords(HOSTILE),
        ...studyRecords(),
        studyRecords("live")[0]!,
      ];
      await using test = testBoard([at]);
      await using browser = await launchBrowser();
      {
        await using store = await recordedStore(at, records);
        await walk(browser, test, store);
      }
      const { page } = await visitor(browser, test);
      await keepsNotes(page, test); // by the board itself, as nobody writes the store now
      await page.close();
    }),
});
