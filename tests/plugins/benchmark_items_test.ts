import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const repository = new URL("../../", import.meta.url);
const data = "plugins/evaluation/data/";
const lastWordsFile = `${data}last_words.jsonl`;
const everydayChoiceFile = `${data}everyday_choice.jsonl`;
const demoTextFile = `${data}demo_text.jsonl`;
const calibrationFile = "python-backends/pare_backends/text/calibration.jsonl";

type LastWord = { id: string; text: string };
type Choice = { id: string; question: string; choices: string[]; answer: number };
type Passage = { id: string; text: string };

function rows<Row>(file: string): Row[] {
  const lines = readFileSync(new URL(file, repository), "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Row);
}

const lastWords = rows<LastWord>(lastWordsFile);
const everydayChoice = rows<Choice>(everydayChoiceFile);
const demoText = rows<Passage>(demoTextFile);
const calibration = rows<Passage>(calibrationFile);

function words(text: string): string[] {
  return text.toLowerCase().match(/[a-z0-9]+(?:['’][a-z]+)*/g) ?? [];
}

const normalised = (text: string): string => words(text).join(" ");
const lastWord = (text: string): string => text.slice(text.lastIndexOf(" ") + 1);
const rightAnswer = (item: Choice): string => item.choices[item.answer] ?? "";

function runs(text: string, length: number): string[] {
  const all = words(text);
  return all.slice(length - 1).map((_, start) => all.slice(start, start + length).join(" "));
}

function assertUnique(values: string[], what: string): void {
  const seen = new Set<string>();
  for (const value of values) {
    assert.ok(!seen.has(value), `${what} appears twice: ${value}`);
    seen.add(value);
  }
}

/** Texts that share a run of eight words, as "id and id: the run". */
function sharedRuns(texts: Passage[]): string[] {
  const owner = new Map<string, string>();
  const shared: string[] = [];
  for (const { id, text } of texts) {
    for (const run of new Set(runs(text, 8))) {
      const earlier = owner.get(run);
      if (earlier === undefined) owner.set(run, id);
      else shared.push(`${earlier} and ${id}: ${run}`);
    }
  }
  return shared;
}

function mostFrequent(values: string[]): number {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return Math.max(...counts.values());
}

Deno.test("every row has exactly the documented fields, and its own id", () => {
  const keys = (row: object): string => Object.keys(row).join(",");
  for (const row of [...lastWords, ...demoText, ...calibration]) {
    assert.equal(keys(row), "id,text", row.id);
    assert.equal(typeof row.text, "string", row.id);
  }
  for (const row of everydayChoice) assert.equal(keys(row), "id,question,choices,answer", row.id);
  const ids = [...lastWords, ...everydayChoice, ...demoText, ...calibration].map((row) => row.id);
  assertUnique(ids, "id");
});

Deno.test("there are as many items as promised", () => {
  assert.equal(lastWords.length, 200);
  assert.equal(everydayChoice.length, 200);
  assert.ok(demoText.length >= 24);
  assert.ok(calibration.length >= 48);
});

Deno.test("no item and no passage appears twice", () => {
  assertUnique(lastWords.map((item) => normalised(item.text)), "last-word text");
  assertUnique(everydayChoice.map((item) => normalised(item.question)), "question");
  assertUnique([...demoText, ...calibration].map((item) => normalised(item.text)), "passage");
});

Deno.test("no two texts share a run of eight words, within a file or between files", () => {
  const questions = everydayChoice.map((item) => ({
    id: item.id,
    text: `${item.question} ${rightAnswer(item)}`,
  }));
  const stems = /^(?:the opposite of|a word that means the same as|a person who|the number of)\b/i;
  const own = questions.filter((question) => !stems.test(question.text));
  assert.deepEqual(sharedRuns([...lastWords, ...own, ...demoText, ...calibration]), []);
});

Deno.test("a last-word text is a short passage that ends with one plain word", () => {
  for (const { id, text } of lastWords) {
    const length = text.split(/\s+/).length;
    assert.ok(length >= 30 && length <= 60, `${id} has ${length} words`);
    const ends = text.match(/[.!?]["”]? /g) ?? [];
    assert.ok(ends.length >= 1, `${id} is a single sentence`);
    assert.match(text, / [a-z]{2,12}$/, `${id} does not end with a lower-case word`);
    assert.equal(text, text.trim().replace(/\s+/g, " "), `${id} has stray spaces`);
  }
});

Deno.test("the last word cannot be copied from a phrase that has just been read", () => {
  for (const { id, text } of lastWords) {
    const all = words(text);
    const ending = all.slice(-3).join(" ");
    const before = all.slice(0, -1).join(" ");
    assert.ok(!` ${before} `.includes(` ${ending} `), `${id} repeats "${ending}"`);
    const justRead = all.slice(-4, -1);
    assert.ok(!justRead.includes(lastWord(text)), `${id} repeats a word just before its end`);
  }
});

Deno.test("no answer dominates the last words or the choices", () => {
  assert.ok(mostFrequent(lastWords.map((item) => lastWord(item.text))) <= 3);
  assert.ok(mostFrequent(everydayChoice.map(rightAnswer)) <= 3);
});

Deno.test("a choice item has four distinct natural continuations, one of them the answer", () => {
  for (const { id, question, choices, answer } of everydayChoice) {
    assert.equal(choices.length, 4, id);
    assert.equal(new Set(choices.map(normalised)).size, 4, `${id} repeats a choice`);
    assert.ok(Number.isInteger(answer) && answer >= 0 && answer < 4, id);
    assert.match(question, /[a-z,]$/, `${id} does not run on into its choices`);
    for (const choice of choices) {
      assert.match(choice, /^[A-Za-z]+(?: [a-z]+)*$/, `${id}: ${choice}`);
      const asked = words(question).includes(normalised(choice));
      assert.ok(!asked, `${id} names "${choice}" in its question`);
    }
  }
});

Deno.test("the answer stands equally often in each position", () => {
  const counts = [0, 1, 2, 3].map((place) =>
    everydayChoice.filter(({ answer }) => answer === place).length
  );
  assert.deepEqual(counts, [50, 50, 50, 50]);
});

Deno.test("the answer is not given away by being the longest or the shortest choice", () => {
  const alone = (compare: (a: number, b: number) => boolean): number =>
    everydayChoice.filter((item) => {
      const others = item.choices.filter((_, place) => place !== item.answer);
      return others.every((other) => compare(rightAnswer(item).length, other.length));
    }).length;
  assert.ok(alone((a, b) => a > b) <= 80, "longest too often");
  assert.ok(alone((a, b) => a < b) <= 80, "shortest too often");
});

Deno.test("passages are of one size and free of control characters", () => {
  for (const { id, text } of [...demoText, ...calibration]) {
    const length = words(text).length;
    assert.ok(length >= 165 && length <= 230, `${id} has ${length} words`);
    assert.match(text, /^[\x20-\x7e\n]+$/, `${id} holds a character outside plain ASCII`);
    assert.match(text, /[.a-zA-Z”"]$/, `${id} breaks off`);
  }
});

Deno.test("the example of a user's own questions asks for none that ship with the tiny model", () => {
  type Asked = { prompt: string; answer: string };
  const own = rows<Asked>("tests/fixtures/own_prompt_answer.jsonl");
  const shipped = new Set(rows<Asked>(`${data}tiny_words.jsonl`).map((row) => row.prompt));
  assert.equal(own.length, 12);
  assertUnique(own.map((row) => row.prompt), "prompt");
  for (const { prompt } of own) assert.ok(!shipped.has(prompt), prompt);
});
