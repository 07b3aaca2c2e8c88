/**
 * Names, notes, samples, prompts, tasks, errors and answers that would run in a page: every page that pare
 * writes or serves is opened in a real browser, and nothing of them runs, loads or is taken for markup. A
 * page of the texts as they are shows that the browser would tell.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContext } from "playwright-core";
import type { JournalRecord } from "../../../core/mod.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { showText } from "../../../tracker/show/notebook/show_text.ts";
import { showPlot, showReport, showTable } from "../../../tracker/show/notebook/show_study.ts";
import { studyMedia, trialCard } from "../../../tracker/show/notebook/cards.ts";
import { frontData } from "../../../tracker/show/pages/front_data.ts";
import { pageHtml } from "../../../tracker/show/pages/page.ts";
import { reportOfStudies } from "../../../tracker/show/report_of_studies.ts";
import { modelCard } from "../../../tracker/show/reports/formats/model_card.ts";
import { renderHtml } from "../../../tracker/show/reports/render_html.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { reportBlocks } from "../../../tracker/show/reports_of_study.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import type { StudyView } from "../../../tracker/show/view/study_view.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { failure, run, samplesIn, world } from "../../core/study_world.ts";
import {
  HOSTILE,
  hostile,
  hostileRecord,
  hostileText,
  STRANGER,
} from "../../fixtures/pages/hostile_texts.ts";
import { testBoard } from "../../fixtures/stores/board.ts";
import { AT, studyRecords } from "../../fixtures/stores/records.ts";
import { mediaOf } from "../../tracker/show/notebook/world_session.ts";

const STUDY = `"><img class=pare-ran src=x onerror="globalThis.pareRan='id'">`;

/** A page shows texts beside the study's name. */
const SHOWN = /pareRan=(&#39;|&quot;|')(?!id)/;

/** A tab, and what went wrong in it since it was last asked. */
async function watched(context: BrowserContext) {
  const page = await context.newPage();
  let wrong: string[] = [];
  page.on("dialog", (dialog) => {
    wrong.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    const text = message.text();
    if (/Content Security Policy|pareRan/.test(text)) wrong.push(text.slice(0, 300));
  });
  page.on("pageerror", ({ message }) => {
    if (message.includes("pareRan")) wrong.push(message);
  });
  page.on("request", (request) => {
    if (new URL(request.url()).hostname === STRANGER) wrong.push(`asked for ${request.url()}`);
  });
  return {
    page,
    async wrong(): Promise<string[]> {
      wrong.push(...await page.evaluate(touched));
      const found = [...new Set(wrong)];
      wrong = [];
      return found;
    },
  };
}

/** In the page: what of the texts has run, or stands there as more than text. */
function touched(): string[] {
  const found: string[] = [];
  const { pareRan } = globalThis as unknown as { pareRan?: string };
  if (pareRan !== undefined) found.push(`a script ran: ${pareRan}`);
  if (document.title === "pareRan") found.push("the title was changed");
  for (const one of document.querySelectorAll(".pare-ran")) {
    found.push(`markup: ${one.outerHTML.slice(0, 200)}`);
  }
  for (const one of document.querySelectorAll("a, area, form, use, image")) {
    for (const { name, value } of one.attributes) {
      if (/^(xlink:)?href$|action$/.test(name) && /^\s*javascript:/i.test(value)) {
        found.push(`a link: ${value.slice(0, 200)}`);
      }
    }
  }
  for (const one of document.querySelectorAll("[onmouseover], [onerror], [onload], [ontoggle]")) {
    found.push(`a handler: ${one.outerHTML.slice(0, 200)}`);
  }
  return found;
}

/** In the page: whatever answers to a reader is looked at, opened and asked. */
function stirred(): void {
  for (const one of document.querySelectorAll("details")) one.open = true;
  const events = ["pointerover", "pointerenter", "pointermove", "mouseover", "mousemove", "focus"];
  for (const one of document.querySelectorAll("svg *, [tabindex], [data-trial], th button")) {
    for (const name of events) one.dispatchEvent(new Event(name, { bubbles: true }));
  }
  for (const one of document.querySelectorAll<HTMLElement>("th button")) one.click();
  for (const one of document.querySelectorAll<HTMLInputElement>("input[type=search]")) {
    one.value = "<";
    one.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

type Watched = Awaited<ReturnType<typeof watched>>;

async function lookAt({ page, wrong }: Watched, address: string): Promise<string[]> {
  await page.goto(address, { waitUntil: "load" });
  await page.evaluate(stirred);
  await page.waitForTimeout(50); // what a script would do next
  return (await wrong()).map((one) => `${address.slice(0, 120)}: ${one}`);
}

/** Each text that runs as soon as it is markup is seen to: else a page would prove nothing. */
async function wouldTell(tab: Watched, root: string): Promise<void> {
  for (const [at, { text, loads }] of HOSTILE.entries()) {
    if (!loads) continue;
    const path = join(root, `bare-${at}.html`);
    await Deno.writeTextFile(path, `<!doctype html><title>x</title><body><p>${text}</p>`);
    const found = await lookAt(tab, pathToFileURL(path).href);
    assert.ok(found.length > 0, `nobody would see ${text}`);
    await Deno.writeTextFile(path, pageHtml({ title: "x", body: `<p>${text}</p>` }));
    const held = (await lookAt(tab, pathToFileURL(path).href)).filter((one) =>
      /a script ran|was changed/.test(one)
    );
    assert.deepEqual(held, [], `the policy of a page lets it run: ${text}`);
  }
}

/** A study whose every text is hostile, as a view. */
async function viewOf(turn: number): Promise<StudyView> {
  const w = world({ max_trials: 5 }, {
    disturb: ({ call, recipe }) =>
      call === "apply" && recipe.includes('"bits":2') ? failure("crash", "it broke") : null,
  });
  await run(w, { study_id: STUDY });
  const note = { type: "note", at: AT, study_id: STUDY, note_id: "n" } as const;
  const alert = { condition: "a", evidence: "b", action: "c", outcome: "d" };
  const more: JournalRecord[] = [
    { ...note, trial_id: null, text: "of the study" },
    { ...note, trial_id: `${STUDY}/t01`, note_id: "m", text: "of a trial" },
    { type: "alert", at: AT, study_id: STUDY, trial_id: `${STUDY}/t01`, ...alert },
  ];
  const records = [...w.records, ...more].map((one) => hostileRecord(one, turn));
  const samples = samplesIn(w);
  return await buildView(STUDY, records, async (id) => {
    const own = await samples(id);
    return own?.map((one) => ({ ...hostile(one, turn), answer: hostileText("x", turn) })) ?? null;
  });
}

/** What cells of a notebook show of it, exported to a page as its users do. */
async function notebookPage(view: StudyView, turn: number, root: string): Promise<string> {
  const shown = [
    await showReport(view),
    showTable(view),
    showTable([{ [hostileText("a", turn)]: hostileText("b", turn) }]),
    showPlot(view),
    showText(hostileText("said", turn)),
    trialCard(view, 1),
  ];
  const media = [...await Promise.all(shown.map(mediaOf)), studyMedia(view, view)];
  const outputs = media.map((data) => ({ output_type: "display_data", metadata: {}, data }));
  const cell = {
    cell_type: "code",
    id: "a",
    execution_count: 1,
    metadata: {},
    source: "",
    outputs,
  };
  const notebook = { cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 5 };
  const path = join(root, `notebook-${turn}.ipynb`);
  await Deno.writeTextFile(path, JSON.stringify(notebook));
  const { python } = await ensureEnvironment("notebook");
  const words = ["-m", "nbconvert", "--to", "html", "--log-level", "ERROR", path];
  execFileSync(python, words, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  return path.replace(/ipynb$/, "html");
}

/** Markdown as a reader that keeps markup would show it: with no cleaning of its own. */
const SHOW = `import sys, pathlib, mistune
for path in map(pathlib.Path, sys.argv[1:]):
    shown = mistune.html(path.read_text())
    path.with_suffix(".html").write_text("<!doctype html><meta charset=utf-8><title>x</title>" + shown)
`;

async function markdownPages(texts: readonly string[], turn: number, root: string) {
  const paths = texts.map((_, at) => join(root, `markdown-${turn}-${at}.md`));
  for (const [at, path] of paths.entries()) await Deno.writeTextFile(path, texts[at]!);
  const { python } = await ensureEnvironment("notebook");
  execFileSync(python, ["-c", SHOW, ...paths], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return paths.map((path) => path.replace(/md$/, "html"));
}

/** Every file that pare writes of a study and a browser shows. */
async function filesOf(turn: number, root: string): Promise<string[]> {
  const view = await viewOf(turn);
  const blocks = reportBlocks(view, { loader: hostileText("load()", turn) });
  const report = join(root, `report-${turn}.html`);
  const html = renderHtml(view.study_id, blocks, frontData(view));
  assert.match(html, SHOWN, "no text of a stranger is in the report");
  await Deno.writeTextFile(report, html);
  const card = modelCard(view, { loader: hostileText("load()", turn) });
  assert.ok(card !== null, "a study that recommends nothing has no card");
  const bodies = [renderMarkdown(blocks), card.replace(/^---\n[^]*?\n---\n/, "")];
  return [
    report,
    ...await markdownPages(bodies, turn, root),
    await notebookPage(view, turn, root),
  ];
}

/** Pages of a board over such a store, and a report over two studies of it. */
async function ofStore(tab: Watched, turn: number, root: string): Promise<string[]> {
  const at = join(root, `store-${turn}`);
  const other = `${STUDY} 2`;
  const over = join(root, `studies-${turn}.html`);
  {
    await using store = await openStore(at, { write: true });
    const records = [...studyRecords(STUDY), ...studyRecords(other)];
    for (const one of records) await store.record(hostileRecord(one, turn));
    await store.flush({ wait_ms: 60_000 });
    const { html } = await reportOfStudies(store, [STUDY, other], hostileText("me", turn));
    await Deno.writeTextFile(over, html);
  }
  await using test = testBoard([at], { script: "Deno.exit(0)" });
  await tab.page.goto(test.board.url);
  await tab.page.waitForURL(`${test.address}/`);
  const [study, second] = [STUDY, other].map(encodeURIComponent);
  const text = hostileText("x", turn);
  const asked = (words: Record<string, string>) => new URLSearchParams(words);
  const found: string[] = [];
  for (
    const path of [
      ...["/", `/studies/${study}`, `/studies/${study}/trials/t01`, "/queue", "/compare"],
      `/compare?${asked({ first: STUDY, second: other })}`,
      `/compare?${asked({ first: `${STUDY}/t00`, second: `${STUDY}/t01` })}`,
      `/compare?${asked({ first: text, second: second! })}`,
      `/sql?${asked({ sql: `SELECT '${text.replaceAll("'", "''")}' AS "x<b>"` })}`,
      `/sql?${asked({ sql: "SELECT * FROM leaderboard_wide" })}`,
      `/sql?${asked({ sql: "SELECT * FROM alerts" })}`,
      `/sql?${asked({ sql: text })}`,
      `/api/studies/${study}/figures/pareto`,
      `/plan?${asked({ model: text, gpus: text })}`,
      `/studies/${study}?${asked({ find: text, order: text })}`,
      `/studies/${encodeURIComponent(text)}`,
      `/${encodeURIComponent(text)}`,
    ]
  ) found.push(...await lookAt(tab, test.address + path));
  found.push(...await lookAt(tab, pathToFileURL(over).href));
  const page = await test.ask(`/studies/${study}`, { headers: { accept: "text/html" } });
  assert.match(await page.text(), SHOWN, "no text of a stranger is on the board");
  return found;
}

/** Turns of the texts: each stands in each field in one of them. */
export const TURNS = HOSTILE.length;
/** A board over a store takes the longest: it is opened in every third turn. */
const BOARD_TURNS = 3;

/** A tab of the browser, that would tell. */
export async function watchedTab(browser: Browser, root: string) {
  const context = await browser.newContext();
  const tab = await watched(context);
  await wouldTell(tab, root);
  return tab;
}

/** Opens every page with the texts of a turn; nothing of them may run, load or be taken for markup. */
export async function openPages(tab: Watched, turn: number, root: string): Promise<void> {
  const found: string[] = [];
  for (const path of await filesOf(turn, root)) {
    found.push(...await lookAt(tab, pathToFileURL(path).href));
  }
  if (turn % BOARD_TURNS === 0) found.push(...await ofStore(tab, turn, root));
  assert.deepEqual([...new Set(found)].slice(0, 30), []);
}
