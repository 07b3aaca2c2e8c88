import assert from "node:assert/strict";
import { NoAnswer, notebookAsk, terminalAsk } from "../../../tracker/show/terminal/ask.ts";
import {
  bar,
  createLiveView,
  phaseLine,
  progressLine,
} from "../../../tracker/show/terminal/live_view.ts";
import { textTable } from "../../../tracker/show/terminal/table.ts";

Deno.test("textTable() aligns numbers to the right and words to the left", () => {
  const text = textTable(["name", "ms"], [["gptq", "9.5"], ["rtn", "12.25"]]);
  assert.equal(text, "name     ms\n────  ─────\ngptq    9.5\nrtn   12.25");
});

Deno.test("a narrow table cuts texts and leaves out what matters least, and says so", () => {
  const head = ["trial", "recipe", "accuracy", "empty", "memory", ""];
  const rows = [
    [
      "demo-demo-20261122-213000/t03",
      "gptq 4-bit g64 + rtn embedding 8-bit",
      "0.570",
      "–",
      "1.2 GB",
      "front",
    ],
    ["demo-demo-20261122-213000/t11", "int8", "0.603", "–", "1.9 GB", "recommended"],
  ];
  const first = ["trial", "", "accuracy", "recipe"];
  const wide = textTable(head, rows, { width: Infinity, first });
  assert.ok(wide.includes("gptq 4-bit g64 + rtn embedding 8-bit") && !wide.includes("too narrow"));
  for (const width of [60, 80, 100]) {
    const text = textTable(head, rows, { width, first });
    assert.ok(text.split("\n").every((line) => [...line].length <= width), `${width}\n${text}`);
    assert.match(text, /\(too narrow for: empty/);
    assert.match(text, /\/t03 .*\n.*\/t11 .*recommended/, "a trial keeps its name");
  }
  assert.match(textTable(head, rows, { width: 60, first }), /too narrow for: empty, memory\)/);
});

Deno.test("progressLine() tells the share, the rate and the time left", () => {
  const line = progressLine({ label: "evaluate", done: 50, total: 200, unit: "items" }, 10);
  assert.match(line, /evaluate +██████░{18} 50\/200 items {2}5\.0 items\/s {2}30 s left/);
  assert.equal(bar(2, 4), "████");
  const resumed = progressLine(
    { label: "evaluate", done: 150, total: 200, unit: "items" },
    10,
    100,
  );
  assert.match(resumed, /150\/200 items {2}5\.0 items\/s {2}10 s left/);
  const slow = progressLine(
    { label: "humaneval", done: 2.5, total: 100, unit: "samples" },
    60,
  );
  const done = progressLine({ label: "mmlu", done: 6, total: 6, unit: "samples" }, 90);
  assert.match(done, /█{24} 6\/6 samples {2}15 s each {2}in 1 min 30 s$/);
  assert.match(slow, /3\/100 samples {2}24 s each {2}39 min 00 s left/);
  const first = progressLine({ label: "default", done: 1, total: 105, unit: "packages" }, 38);
  assert.match(first, /1\/105 packages *$/, "one of many foretells nothing");
});

Deno.test("phaseLine() says in words what is done", () => {
  const line = (phase: string, detail: string) => phaseLine({ trial_id: "s/t01", phase, detail });
  assert.equal(line("apply", "gptq"), "  t01  compress with gptq");
  assert.equal(line("score", "default"), "  t01  score the answers that were kept");
});

Deno.test("the live view writes to a file in lines, and not for every event", () => {
  let written = "";
  let time = 0;
  const screen = { terminal: false, columns: 80, write: (text: string) => void (written += text) };
  const view = createLiveView(screen, () => time);
  for (const done of [...Array(101).keys(), 100]) {
    view.onEvent({
      event: "progress",
      trial_id: "s/t01",
      label: "gptq",
      done,
      total: 100,
      unit: "x",
    });
    time += 1000;
  }
  const lines = written.trim().split("\n");
  assert.ok(lines.length >= 5 && lines.length <= 8, `${lines.length} lines`);
  assert.equal(lines.filter((line) => line.includes("100/100")).length, 1, "its end, told twice");
  assert.match(lines.at(-1)!, /100\/100/);
});

/** What a terminal shows of what was written. */
function shownOf(written: string): string[] {
  const lines = [""];
  let at = 0;
  const plain = written.replaceAll("\x1b[2K", "⌫").replaceAll("\x1b[1A", "↑");
  for (const [part] of plain.matchAll(/[⌫↑\r\n]|[^⌫↑\r\n]+/g)) {
    if (part === "⌫") lines[at] = "";
    else if (part === "↑") at--;
    else if (part === "\n") lines[++at] ??= "";
    else if (part !== "\r") lines[at] = part;
  }
  return lines.filter((line) => line !== "");
}

Deno.test("the live view has a line for each trial under way, below what stays", () => {
  let written = "";
  let time = 0;
  const screen = { terminal: true, columns: 80, write: (text: string) => void (written += text) };
  const view = createLiveView(screen, () => time += 1000);
  const progress = (trial_id: string, done: number) =>
    view.onEvent({ event: "progress", trial_id, label: "mmlu", done, total: 9, unit: "x" });
  view.progressLine("set-up");
  view.onEvent({ event: "phase", trial_id: "s/t01", phase: "apply", detail: "rtn" });
  assert.deepEqual(shownOf(written), ["  t01  compress with rtn"]);
  progress("s/t02", 1);
  progress("s/t02", 3);
  view.say("t00  done");
  const both = shownOf(written);
  assert.deepEqual(both.slice(0, 2), ["t00  done", "  t01  compress with rtn"]);
  assert.match(both[2]!, /^ {2}t02 {2}mmlu .*3\/9 x/);
  assert.ok(both.every((line) => line.length < 80));
  const trial = { trial_id: "s/t01" };
  view.onEvent({ event: "record", record: { type: "trial_closed", at: "", trial } as never });
  view.say("t01  done");
  assert.deepEqual(shownOf(written), ["t00  done", "t01  done"], "one alone gives way");
  progress("s/t02", 5);
  assert.match(shownOf(written)[2]!, /^ {2}mmlu .*5\/9 x/);
  view.finish();
  assert.deepEqual(shownOf(written), ["t00  done", "t01  done"]);
});

Deno.test("terminalAsk() takes an empty line for the default and asks again for nonsense", async () => {
  const answers = ["many", "0.05", ""];
  const ask = terminalAsk(() => answers.shift() ?? null);
  assert.equal(await ask.number("Drop?", 0.02), 0.05);
  assert.equal(await ask.number("Drop?", 0.02), 0.02);
});

Deno.test("a question that is broken off is no consent in a terminal, the default in a notebook", async () => {
  await assert.rejects(terminalAsk(() => null).number("Drop?", 0.02), NoAnswer);
  assert.equal(await notebookAsk(() => null).number("Drop?", 0.02), null);
  assert.equal(await notebookAsk(() => "0.1").number("Drop?", 0.02), 0.1);
});
