/**
 * The SQL box of a report in a real browser: from the disk, without a network, compared with what the
 * store itself answers. It needs Chromium (`apt-get install chromium`).
 */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { publishStudy } from "../../tracker/exchange/publish/publish_study.ts";
import { openStore, type Store } from "../../tracker/store/store.ts";
import { inBrowser, launchBrowser } from "../fixtures/chromium.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { AT, STUDY, studyRecords } from "../fixtures/stores/records.ts";

const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>'`;

/** A page of the disk without a network; whatever goes wrong or is asked of a network is collected. */
async function fromDisk(browser: Browser, file: string, options = {}) {
  const context = await browser.newContext({ offline: true, ...options });
  const page = await context.newPage();
  const wrong: string[] = [];
  page.on("dialog", (dialog) => {
    wrong.push(`a script ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("request", (request) => {
    if (!/^(file|blob):/.test(request.url())) wrong.push(`asked for ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  return { page, wrong, context };
}

async function openBox(page: Page): Promise<void> {
  await page.getByText("Open the box").click();
  await page.getByLabel("SQL (").waitFor({ timeout: 60_000 });
}

/** The answer's rows as text, whichever are below a fold, too. */
async function answerTo(page: Page, sql: string): Promise<string[][]> {
  await page.locator("[data-pare-sql-answer]").evaluate((one) => one.replaceChildren());
  await page.getByLabel("SQL (").fill(sql);
  await page.keyboard.press("Control+Enter");
  await page.locator("[data-pare-sql-answer] > p").waitFor();
  return await page.locator("[data-pare-sql-answer] tbody tr").evaluateAll((rows) =>
    rows.map((row) => [...(row as HTMLTableRowElement).cells].map((cell) => cell.textContent ?? ""))
  );
}

const SAME = [
  "SELECT trial_id, number, state, accuracy, latency_ms, size_bytes, on_front FROM trial_summary ORDER BY number",
  "SELECT trial_id, rank, accuracy, front_probability FROM pareto ORDER BY ALL;",
  "SELECT metric, count(*) AS n, avg(value) AS mean, sum(n) AS all_n FROM measurements GROUP BY metric ORDER BY metric -- end",
  "SELECT * FROM failures ORDER BY ALL",
  "SELECT text FROM notes ORDER BY text",
];

/** As the store's own engine writes each column as text. */
async function storeAnswer(store: Store, sql: string): Promise<string[][]> {
  const bare = sql.replace(/;$/, "");
  const { rows } = await store.query(`SELECT COLUMNS(*)::VARCHAR FROM (\n${bare}\n)`);
  return rows.map((row) => Object.values(row).map((value) => value === null ? "NULL" : `${value}`));
}

async function sameAnswers(page: Page, store: Store): Promise<void> {
  let rows = 0;
  for (const sql of SAME) {
    const wanted = await storeAnswer(store, sql);
    assert.deepEqual(await answerTo(page, sql), wanted, sql);
    rows += wanted.length;
  }
  assert.ok(rows > 10, `only ${rows} rows were compared`);
  assert.ok((await answerTo(page, SAME.at(-1)!)).flat().includes(HOSTILE), "told as it is");
}

/** What is wrong is said in DuckDB's words, and the box goes on; nothing is loaded from anywhere. */
async function saysWhatIsWrong(page: Page): Promise<void> {
  for (
    const [sql, said] of [
      ["SELEC 1", /Parser Error: syntax error at or near "SELEC"/],
      ["SELECT nothing FROM trials", /Binder Error: Referenced column "nothing" not found/],
      ["SELECT to_json({a: 1})", /Catalog Error/],
      ["LOAD httpfs", /Error/],
      ["FROM 'https://example.org/x.parquet'", /Error/],
      ["SET autoload_known_extensions = true", /Error/],
      ["DELETE FROM trials", /Error/],
    ] as const
  ) {
    await answerTo(page, sql);
    assert.match(await page.locator("[data-pare-sql-answer] > p").innerText(), said, sql);
  }
  assert.deepEqual(await answerTo(page, "SELECT 1 + 1 AS two"), [["2"]]);
}

async function foldsAndStops(page: Page): Promise<void> {
  const rows = await answerTo(page, "SELECT range AS n FROM range(20000)");
  assert.equal(rows.length, 10_000);
  assert.match(
    await page.locator("[data-pare-sql-answer]").innerText(),
    /10000 rows, the first of/,
  );
  assert.equal(await page.locator("[data-pare-sql-answer] > div > .scroll tbody tr").count(), 50);
  await page.getByLabel("SQL (").fill(
    "SELECT sum(a.range * b.range) FROM range(1e7::BIGINT) a, range(1e7::BIGINT) b",
  );
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped.").waitFor();
  assert.deepEqual(await answerTo(page, "SELECT 3 AS three"), [["3"]]);
}

async function savedQuestions(page: Page): Promise<void> {
  const options = page.getByLabel("A question to begin with").locator("option");
  const count = await options.count();
  assert.ok(count > 4);
  for (let at = 1; at < count; at++) {
    await page.getByLabel("A question to begin with").selectOption({ index: at });
    const sql = await page.getByLabel("SQL (").inputValue();
    await answerTo(page, sql);
    assert.equal(await page.getByRole("alert").count(), 0, sql);
  }
  await page.getByText("Tables and what they hold").click();
  const listed = await page.locator("[data-pare-sql-tables]").innerText();
  assert.match(listed, /trial_summary: \S+/);
}

async function phoneInTheDark(browser: Browser, file: string, shot?: string): Promise<void> {
  const { page, wrong, context } = await fromDisk(browser, file, {
    viewport: { width: 390, height: 844 },
    colorScheme: "dark",
  });
  await openBox(page);
  await answerTo(page, "SELECT * FROM trial_summary");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  const unnamed = await page.locator("textarea, select, button").evaluateAll((all) =>
    all.filter((one) => !(one as HTMLInputElement).labels?.length && one.textContent === "").length
  );
  assert.equal(unnamed, 0);
  if (shot !== undefined) await page.locator("[data-pare-sql]").screenshot({ path: shot });
  assert.deepEqual(wrong, []);
  await context.close();
}

Deno.test({
  name:
    "A report's SQL box answers as the store does, from the disk, and without its folder says so",
  ...inBrowser(),
  fn: () =>
    inDirectory(async (root) => {
      await using store = await openStore(join(root, "store"), { write: true });
      for (const record of studyRecords()) {
        if (record.type !== "samples_written") await store.record(record);
      }
      const note = { type: "note", at: AT, study_id: STUDY, trial_id: null } as const;
      await store.record({ ...note, note_id: "n2", text: HOSTILE });
      await store.flush({ wait_ms: 60_000 });
      const directory = join(root, "a folder");
      const registry = await discoverPlugins();
      const one = { store, study_id: STUDY, registry, directory, force: false, sql: true };
      await publishStudy({ ...one, hidden: { words: [] } });
      const file = join(directory, "report.html");
      const sizes = [...Deno.readDirSync(join(directory, "report_sql"))].map(({ name }) =>
        `${name} ${Deno.statSync(join(directory, "report_sql", name)).size}`
      );
      console.log(`report.html ${Deno.statSync(file).size}; ${sizes.join("; ")}`);
      assert.ok(Deno.statSync(file).size < 1e7);
      assert.match(
        Deno.readTextFileSync(join(directory, "report_sql", "LICENSE.txt")),
        /DuckDB WASM/,
      );
      await using browser = await launchBrowser();
      const { page, wrong } = await fromDisk(browser, file);
      await openBox(page);
      await sameAnswers(page, store);
      await saysWhatIsWrong(page);
      await foldsAndStops(page);
      await savedQuestions(page);
      assert.deepEqual(wrong, []);
      await phoneInTheDark(browser, file, Deno.env.get("PARE_SHOT"));

      await rm(join(directory, "report_sql"), { recursive: true });
      const without = await fromDisk(browser, file);
      await without.page.getByText("Open the box").click();
      await without.page.getByText("it is not there").waitFor();
      const said = await without.page.locator("[data-pare-sql-without]").innerText();
      assert.match(said, new RegExp(`report ${STUDY} --sql`));
      assert.deepEqual(without.wrong, []);
    }),
});
