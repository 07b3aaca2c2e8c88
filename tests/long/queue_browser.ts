/** The queue's page in a browser: what a person drags, holds and cancels. It needs Chromium. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Locator, Page } from "playwright-core";
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

Deno.test({
  name: "a job is dragged to another place, moved up, held with a reason, released and cancelled",
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
        assert.equal(await page.getByRole("alert").count(), 0, "what was refused is over");
        page.once("dialog", (dialog) =>
          dialog.accept("waiting on Coding Agent"));
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
