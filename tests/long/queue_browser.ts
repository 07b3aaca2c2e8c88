/** The queue's page in a browser: what a person drags, holds and cancels. It needs Chromium. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Browser, Locator, Page } from "playwright-core";
import { inBrowser, launchBrowser } from "../fixtures/chromium.ts";
import { testBoard } from "../fixtures/stores/board.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { until } from "../python-backends/scripted_worker.ts";

/** Lets the page be brought up to date, as it is every two seconds. */
async function brought(page: Page): Promise<void> {
  const asked = page.waitForResponse(/\/queue$/);
  await page.evaluate(() => document.dispatchEvent(new Event("changed")));
  await asked;
  await delay(100);
}

/** Drags a line behind another one, and holds it there while the page is brought up to date. */
async function dragBehind(page: Page, line: Locator, other: Locator): Promise<void> {
  await line.hover();
  await page.mouse.down();
  const { x, y, height } = (await other.boundingBox())!;
  await page.mouse.move(x + 40, y + height - 6, { steps: 4 });
  await brought(page);
  await page.mouse.move(x + 40, y + height - 4);
  assert.equal(await other.getAttribute("data-drop"), "behind");
  await page.mouse.up();
}

/** The queue's page on a phone. */
async function touched(
  browser: Browser,
  { board, address }: ReturnType<typeof testBoard>,
  run: (page: Page) => Promise<void>,
): Promise<void> {
  const viewport = { width: 390, height: 844 };
  const context = await browser.newContext({ viewport, isMobile: true, hasTouch: true });
  const page = await context.newPage();
  await page.goto(board.url);
  await page.waitForURL(`${address}/`);
  await page.goto(`${address}/queue`);
  await run(page);
  await context.close();
}

/** Drags a line by its grip over another one, before it where it comes from below. */
async function dragByFinger(page: Page, job: string, other: string): Promise<void> {
  await brought(page);
  const item = (job: string) => page.locator(`li[data-id="${job}"]`);
  const from = (await item(job).locator(".grip").boundingBox())!;
  const { y, height } = (await item(other).boundingBox())!;
  const behind = from.y < y;
  const x = from.x + from.width / 2;
  const client = await page.context().newCDPSession(page);
  const touch = (
    type: "touchStart" | "touchMove" | "touchEnd",
    ...touchPoints: [{ x: number; y: number }?]
  ) =>
    client.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: touchPoints.flatMap((at) => at ?? []),
    });
  await touch("touchStart", { x, y: from.y + from.height / 2 });
  await touch("touchMove", { x, y: y + height / 2 });
  await brought(page);
  await touch("touchMove", { x, y: behind ? y + height - 6 : y + 6 });
  const place = behind ? "behind" : "before";
  const shown = async () => await item(other).getAttribute("data-drop") === place;
  await until(`${job} would go ${place} ${other}`, shown, 10_000);
  await touch("touchEnd");
}

Deno.test({
  name:
    "a job is dragged to another place, by a finger too, moved by keys, held with a reason, released and cancelled",
  ...inBrowser(),
  fn: () =>
    inDirectory(async (root) => {
      await using test = testBoard([join(root, "store")]);
      const body = '{"model_name":"tiny","dataset":"tiny"}';
      for (let n = 0; n < 4; n++) await test.json("/api/studies", { method: "POST", body });
      const queue = async (section: string) =>
        ((await test.json("/api/queue")).body as {
          job_id: string;
          section: string;
          state: string;
        }[])
          .filter((one) => one.section === section);
      await until(
        "the first runs",
        async () => (await queue("running"))[0]?.state === "running",
        30_000,
      );
      const line = async () => (await queue("queued")).map(({ job_id }) => job_id);
      const browser = await launchBrowser();
      try {
        const page = await browser.newPage();
        await page.goto(test.board.url);
        await page.waitForURL(`${test.address}/`);
        await page.goto(`${test.address}/queue`);
        const item = (job: string) => page.locator(`li[data-id="${job}"]`);
        await item("EXP-004").dragTo(item("EXP-002"), { targetPosition: { x: 40, y: 4 } });
        await until("it was moved", async () => (await line())[0] === "EXP-004", 10_000);
        assert.deepEqual(await line(), ["EXP-004", "EXP-002", "EXP-003"]);
        await dragBehind(page, item("EXP-004"), item("EXP-003"));
        await until("it was moved back", async () => (await line())[2] === "EXP-004", 10_000);
        assert.deepEqual(await line(), ["EXP-002", "EXP-003", "EXP-004"]);
        await page.route("**/job", (route) =>
          route.fulfill({ status: 409, json: { error: "Cannot move EXP-002: it is done" } }));
        await dragBehind(page, item("EXP-002"), item("EXP-003"));
        await page.getByRole("alert").waitFor();
        await brought(page);
        assert.match(
          await page.getByRole("alert").innerText(),
          /^Cannot move EXP-002: it is done$/,
        );
        await page.unroute("**/job");
        await page.getByLabel("Up EXP-003").click();
        await until("it is up", async () =>
          (await line())[0] === "EXP-003", 10_000);
        await page.getByRole("alert").waitFor({ state: "detached" });
        await page.getByLabel("Down EXP-003").focus();
        const keyed = async (label: string, wanted: string[]) => {
          const focused = () =>
            page.getByLabel(label).evaluate((own) => own.matches(":focus"));
          await until(`${label} has the focus`, focused, 10_000);
          await page.keyboard.press("Enter");
          await until(`${label} moved it`, async () => `${await line()}` === `${wanted}`, 10_000);
        };
        await keyed("Down EXP-003", ["EXP-002", "EXP-003", "EXP-004"]);
        await keyed("Down EXP-003", ["EXP-002", "EXP-004", "EXP-003"]);
        await keyed("Up EXP-003", ["EXP-002", "EXP-003", "EXP-004"]);
        await keyed("Up EXP-003", ["EXP-003", "EXP-002", "EXP-004"]);
        await touched(browser, test, async (phone) => {
          await dragByFinger(phone, "EXP-004", "EXP-002");
          await until("a finger moved it", async () => (await line())[1] === "EXP-004", 10_000);
          await dragByFinger(phone, "EXP-004", "EXP-002");
          await until("and back", async () => (await line())[2] === "EXP-004", 10_000);
        });
        page.once("dialog", (dialog) => dialog.accept("waiting on Coding Agent"));
        await page.getByLabel("Hold EXP-002").click();
        await until("it is held", async () => (await queue("blocked")).length === 1, 10_000);
        await page.getByText("held: waiting on Coding Agent").waitFor();
        await page.getByLabel("Release EXP-002").click();
        await until("it is released", async () => (await line()).length === 3, 10_000);
        await page.getByLabel("Cancel EXP-004").click();
        await until("it is gone", async () => (await queue("ended")).length === 1, 10_000);
        assert.deepEqual(await line(), ["EXP-003", "EXP-002"]);
      } finally {
        await browser.close();
      }
    }),
});
