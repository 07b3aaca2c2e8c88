/** Lines of an assistant's program: those of attacks, and what each must be answered with. */
import { STUDY } from "../../fixtures/stores/records.ts";

/** Longer than a line may be, many times over. */
const ENORMOUS = 100 * 1024 * 1024;

const line = (value: unknown) => JSON.stringify(value);
const request = (id: unknown, method: unknown, params?: unknown) => ({
  ...{ jsonrpc: "2.0", id, method },
  ...(params === undefined ? {} : { params }),
});
const call = (id: unknown, name: unknown, asked: unknown) =>
  line(request(id, "tools/call", { name, arguments: asked }));
const nested = (deep: number) => `${"[".repeat(deep)}${"]".repeat(deep)}`;

export interface Attack {
  readonly name: string;
  /** Its lines without the last newline; some are enormous. */
  text(): string;
}

/** What is no request, or more than one. */
function lineFaults(): Attack[] {
  return [
    { name: "a line of 100 MB", text: () => "x".repeat(ENORMOUS) },
    {
      name: "a request of 100 MB",
      text: () => call("big", "views", { name: "x".repeat(ENORMOUS) }),
    },
    { name: "no JSON", text: () => "{" },
    { name: "NUL bytes", text: () => "\u0000\u0000" },
    { name: "a batch", text: () => line([request(1, "ping"), request(2, "ping")]) },
    { name: "an empty batch", text: () => "[]" },
    { name: "a number", text: () => "1e999" },
    { name: "no id", text: () => line({ jsonrpc: "2.0", method: "tools/list" }) },
    { name: "an id that is null", text: () => line(request(null, "ping")) },
    { name: "an id that is an object", text: () => line(request({ a: 1 }, "ping")) },
    { name: "an id with a fraction", text: () => line(request(1.5, "ping")) },
    { name: "an id of 70,000 letters", text: () => line(request("i".repeat(70_000), "ping")) },
    { name: "another protocol", text: () => line({ ...request(1, "ping"), jsonrpc: "1.0" }) },
    { name: "a method that is no word", text: () => line(request(1, 7)) },
    { name: "params that are a list", text: () => line(request(1, "tools/list", [])) },
    {
      name: "an answer that nobody asked for",
      text: () => line({ jsonrpc: "2.0", id: 9, result: {} }),
    },
    {
      name: "the same id many times",
      text: () => Array(50).fill(call(5, "studies", {})).join("\n"),
    },
    {
      name: "a thousand requests at once",
      text: () =>
        Array.from(
          { length: 1_000 },
          (_, n) => n % 50 === 0 ? call(n, "views", {}) : line(request(n, "ping")),
        ).join("\n"),
    },
    {
      name: "a deep document",
      text: () => call(1, "propose", { document: { a: 7 } }).replace("7", nested(50_000)),
    },
    { name: "a deep line", text: () => nested(1_000_000) },
    ...["initialize", "nothing/here", "__proto__", "tools/call/x", "", "logging/setLevel"].map(
      (method) => ({ name: `the method "${method}"`, text: () => line(request(1, method, {})) }),
    ),
  ];
}

/** `secret`: a file beside the store. */
export function lineAttacks(secret: string): Attack[] {
  const names = [7, null, true, {}, [], "", "../..", "\u0000", "__proto__", "a".repeat(70_000)];
  const paths = [secret, `${STUDY}/../../secret.csv`, "/etc/passwd", `file://${secret}`, "~/x"];
  return [
    ...lineFaults(),
    ...names.flatMap((name) => [
      { name: `a tool called ${line(name).slice(0, 40)}`, text: () => call(1, name, {}) },
      { name: `a study called ${line(name).slice(0, 40)}`, text: () => call(1, "show", { name }) },
      {
        name: `params of ${line(name).slice(0, 40)}`,
        text: () => line(request(1, "tools/call", name)),
      },
    ]),
    ...paths.flatMap((path) => [
      { name: `the path ${path} for a study`, text: () => call(1, "report", { study: path }) },
      {
        name: `the path ${path} for a model`,
        text: () => call(1, "plan", { model: path, gpus: "H100" }),
      },
      {
        name: `the path ${path} in a document`,
        text: () => call(1, "propose", { document: { model_name: path, dataset: path } }),
      },
      {
        name: `the path ${path} for a resource`,
        text: () => line(request(1, "resources/read", { uri: path })),
      },
      {
        name: `the path ${path} within a resource`,
        text: () =>
          line(request(1, "resources/read", {
            uri: `pare://studies/${encodeURIComponent(path)}/report`,
          })),
      },
    ]),
    {
      name: "a resource that is no text",
      text: () => line(request(1, "resources/read", { uri: 7 })),
    },
    {
      name: "a resource of half a code",
      text: () => line(request(1, "resources/read", { uri: "pare://studies/%E0%A4/report" })),
    },
  ];
}

/** What must come back for some lines. */
export interface Due {
  /** Answers by their ids, with how many of each. */
  readonly answers: ReadonlyMap<string, number>;
  /** Ids that may be answered, of what may be an answer itself. */
  readonly maybe: ReadonlySet<string>;
  /** Errors of no request: at least and at most so many. */
  readonly errors: readonly [least: number, most: number];
}

const key = (id: unknown) => `${typeof id} ${String(id)}`;

/** Of lines as they are read: `most` bytes of each. */
export function dueOf(text: string, most: number): Due {
  const answers = new Map<string, number>();
  const maybe = new Set<string>();
  let [least, open] = [0, 0];
  const lines = text.split("\n").map((one) => one.replace(/^\ufeff/, ""));
  for (const one of lines.filter((part) => part.trim() !== "")) {
    let value: unknown;
    try {
      if (Buffer.byteLength(one) > most) throw new Error();
      value = JSON.parse(one);
    } catch {
      least++;
      continue;
    }
    const asked = (value ?? {}) as { id?: unknown; method?: unknown };
    const isNamed = typeof asked.id === "string" || Number.isInteger(asked.id);
    if (typeof value !== "object" || value === null || Array.isArray(value)) least++;
    else if (isNamed && "method" in asked) {
      answers.set(key(asked.id), (answers.get(key(asked.id)) ?? 0) + 1);
    } else if (isNamed) maybe.add(key(asked.id));
    else if ("method" in asked && "id" in asked) least++;
    else open++; // an answer, or what needs none
  }
  return { answers, maybe, errors: [least, least + open] };
}

/** What one line of the other side answers: its id, and its error or the text of its result. */
export function answerIn(text: string): { key: string | null; said: string; isError: boolean } {
  const { id, result, error, jsonrpc } = JSON.parse(text) as Record<string, unknown>;
  const isError = error !== undefined;
  if (jsonrpc !== "2.0" || isError === (result !== undefined)) {
    throw new Error(`this is no answer: ${text.slice(0, 300)}`);
  }
  return { key: id === null ? null : key(id), said: JSON.stringify(error ?? result), isError };
}
