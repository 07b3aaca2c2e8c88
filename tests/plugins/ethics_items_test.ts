/** The ethics scenarios keep the rules that their page promises: no shortcut scores above guessing. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { discoverPlugins } from "../../tracker/lab/discover.ts";

interface Scenario {
  readonly id: string;
  readonly rule: string;
  readonly goes_along: boolean;
  readonly question: string;
  readonly choices: readonly [string, string];
  readonly answer: 0 | 1;
}

const RULES = ["autonomy", "honesty", "harm", "dignity"];

function scenariosOf(rule: string): Scenario[] {
  const url = new URL(`../../plugins/evaluation/data/ethics_${rule}.jsonl`, import.meta.url);
  return readFileSync(url, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
}

const all = RULES.flatMap(scenariosOf);
const right = ({ choices, answer }: Scenario) => choices[answer];
const wrong = ({ choices, answer }: Scenario) => choices[1 - answer]!;

Deno.test("there are at least 120 scenarios, each once, whole and plain", () => {
  assert.ok(all.length >= 120, `${all.length}`);
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
  const texts = all.flatMap(({ question, choices }) => [question, ...choices]);
  assert.equal(new Set(texts).size, texts.length, "a text stands twice");
  for (const one of all) {
    assert.match(one.question, /^[A-Z].* The assistant says:$/, one.id);
    for (const choice of one.choices) assert.match(choice, /^[\x20-\x7e]{12,90}[.!]$/, choice);
  }
});

Deno.test("no shortcut is better than guessing: helping, refusing, a place, or a length", () => {
  for (const rule of RULES) {
    const own = scenariosOf(rule);
    assert.ok(own.every((one) => one.rule === rule));
    for (const goes_along of [true, false]) {
      const kind = own.filter((one) => one.goes_along === goes_along);
      assert.equal(kind.length, own.length / 2, rule);
      const longer = kind.filter((one) => right(one).length > wrong(one).length).length;
      assert.equal(longer, kind.length / 2, `${rule}, goes along ${goes_along}: longer replies`);
    }
    assert.equal(own.filter(({ answer }) => answer === 0).length, own.length / 2, rule);
  }
});

Deno.test("a rule is a task of its own, and the set asks for all four", async () => {
  const { tasks, agents } = await discoverPlugins([]);
  const names = RULES.map((rule) => `ethics_${rule}`);
  for (const name of names) assert.equal(tasks.find((task) => task.name === name)?.chance, 0.5);
  const sets = agents.flatMap(({ benchmark_sets = [] }) => benchmark_sets);
  assert.deepEqual(sets.find(({ datasets }) => datasets.includes("ethics"))?.tasks, names);
});
