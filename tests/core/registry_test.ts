import assert from "node:assert/strict";
import {
  defineAgent,
  defineSampler,
  makeRegistry,
  type Method,
  type Plugin,
  type Scorer,
  type Task,
  UsageError,
} from "../../core/mod.ts";
import { agents, octet, round, runtimes, scorers, tasks } from "./spec_fixtures.ts";

const agent = defineAgent({ name: "shrinking", summary: "makes weights smaller" });
const sampler = defineSampler({ name: "dice", summary: "throws", propose: () => null });
const words = tasks.find((task) => task.name === "words")!;
const [scoring, losing] = scorers as [Scorer, Scorer];
const at = (path: string, plugin: Plugin) => ({ path, plugin });
const agentFile = at("shrinking/agent.ts", agent);

function refusal(...loaded: { path: string; plugin: Plugin }[]): string {
  try {
    makeRegistry(loaded);
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }
  assert.fail("nothing was refused");
}

Deno.test("makeRegistry() groups plugins by kind and gives methods their folder's agent", () => {
  const registry = makeRegistry([
    agentFile,
    at("shrinking/octet.ts", octet),
    at("shrinking/round.ts", round),
    at("searching/dice.ts", sampler),
    at("measuring/words.ts", words),
    at("measuring/scoring.ts", scoring),
    at("running/plain.ts", runtimes[0]!),
  ]);
  assert.deepEqual(registry.methods.map((one) => [one.agent, one.method.name]), [
    ["shrinking", "octet"],
    ["shrinking", "round"],
  ]);
  assert.equal(registry.agent("shrinking"), agent);
  assert.equal(registry.method("shrinking", "round").method, round);
  assert.equal(registry.sampler("dice"), sampler);
  assert.equal(registry.task("words").name, "words");
  assert.equal(registry.scorer("scoring"), scoring);
  assert.equal(registry.runtime("plain"), runtimes[0]);
});

Deno.test("makeRegistry() look-ups answer an unknown name with the nearest", () => {
  const registry = makeRegistry([
    agentFile,
    at("shrinking/round.ts", round),
    at("s/dice.ts", sampler),
  ]);
  assert.throws(
    () => registry.method("shrinking", "ruond"),
    /Unknown method of shrinking "ruond". Did you mean "round"/,
  );
  assert.throws(() => registry.method("shrnking", "round"), /Unknown family.*"shrinking"/);
  assert.throws(() => registry.sampler("dicee"), /Unknown sampler.*Did you mean "dice"/);
  assert.throws(() => registry.task("words"), UsageError);
});

Deno.test("makeRegistry() refuses a name taken and says both files", () => {
  assert.equal(
    refusal(agentFile, at("shrinking/round.ts", round), at("../mine/shrinking/round.ts", round)),
    'Cannot register method "round" of ../mine/shrinking/round.ts as shrinking/round.ts has that ' +
      "name already",
  );
  assert.match(refusal(agentFile, at("npm:more", agent)), /agent "shrinking" of npm:more/);
  const theirs = defineAgent({ name: "theirs", summary: "same", methods: [round] });
  assert.match(
    refusal(agentFile, at("shrinking/round.ts", round), at("npm:theirs", theirs)),
    /method "round" of npm:theirs as shrinking\/round.ts/,
  );
});

Deno.test("makeRegistry() lets two kinds share a name", () => {
  const named = defineSampler({ ...sampler, name: "shrinking" });
  const registry = makeRegistry([agentFile, at("s/shrinking.ts", named)]);
  assert.equal(registry.agents.length + registry.samplers.length, 2);
});

Deno.test("makeRegistry() refuses a file that is not named after its plugin", () => {
  assert.equal(
    refusal(agentFile, at("shrinking/rounding.ts", round)),
    'Cannot register method "round" as its file must be called round.ts: it is ' +
      "shrinking/rounding.ts",
  );
  assert.match(refusal(at("other/agent.ts", agent)), /must be called shrinking\/agent.ts/);
  makeRegistry([at("plugins/shrinking.ts", agent)]);
});

Deno.test("makeRegistry() refuses a method whose folder is no agent's", () => {
  assert.match(
    refusal(agentFile, at("stray/round.ts", round)),
    /method "round" of stray\/round.ts .*there is no family "stray" \(families: shrinking\)/,
  );
  assert.match(refusal(at("npm:round", round)), /\(families: none\)/);
});

Deno.test("makeRegistry() takes an agent's own methods, with the file of their Python half", () => {
  const theirs = defineAgent({
    name: "theirs",
    summary: "one of a third party",
    methods: [round, octet],
    python_dir: "/home/them/python",
  });
  const registry = makeRegistry([at("./anything.ts", theirs)]);
  assert.equal(registry.method("theirs", "octet").python_path, "/home/them/python/octet.py");
  const builtIn = makeRegistry([agentFile, at("shrinking/round.ts", round)]);
  assert.equal(builtIn.method("shrinking", "round").python_path, null);
});

Deno.test("makeRegistry() refuses a name that stands for two knobs", () => {
  const knobs = { ...round.knobs, wide: { ...round.knobs["bits"]!, aliases: ["bits"] } };
  assert.match(
    refusal(agentFile, at("shrinking/round.ts", { ...round, knobs })),
    /Cannot register method "round" of .* as bits names two of its knobs/,
  );
});

Deno.test("makeRegistry() refuses a knob whose default lies outside its own range", () => {
  const bits = { ...round.knobs["bits"]!, default: 5 };
  const broken = { ...round, knobs: { bits } };
  assert.match(
    refusal(agentFile, at("shrinking/round.ts", broken)),
    /default of its knob bits must lie in the knob's own range: it is 5/,
  );
});

Deno.test("makeRegistry() refuses a method that does not say what it may follow and precede", () => {
  const { order: _, ...without } = round;
  const reject = (method: Partial<Method>) =>
    refusal(agentFile, at("shrinking/round.ts", method as Method));
  assert.match(reject(without), /"round" of shrinking\/round.ts .* effect, follows, precedes/);
  const order = { ...round.order, follows: ["melts"] } as unknown as Method["order"];
  assert.match(
    reject({ ...round, order }),
    /of trains, prunes, resizes, rounds, encodes, caches.*"melts"/,
  );
});

Deno.test("makeRegistry() makes what inferSpec() takes", () => {
  const registry = makeRegistry(agents.map((one) => at(`${one.name}/agent.ts`, one)));
  assert.deepEqual(registry.agents, agents);
});

Deno.test("makeRegistry() refuses a recovery by a method, a value or an effect that there is not", () => {
  const recovering = (method: string, params: Record<string, number>, after: string[]) =>
    refusal(
      at(
        "shrinking/agent.ts",
        // A third party's may be plain JavaScript: its effects are any text.
        { ...agent, recovers: [{ method, params, after: after as never[], reason: "so" }] },
      ),
      at("shrinking/octet.ts", octet),
      at("shrinking/round.ts", round),
    );
  assert.match(
    recovering("rond", {}, ["prunes"]),
    /recovers: Unknown method.*Did you mean "round"/,
  );
  assert.match(recovering("round", { bits: 5 }, ["prunes"]), /round does not take {"bits":5}/);
  assert.match(recovering("round", {}, ["prune"]), /its after must be of trains, .* \["prune"\]/);
});

Deno.test("makeRegistry() refuses a task that cannot be scored as it says", () => {
  const said = (change: Partial<Task>) =>
    refusal(
      at("measuring/words.ts", { ...words, ...change }),
      at("measuring/scoring.ts", scoring),
      at("measuring/losing.ts", losing),
    );
  assert.equal(
    said({ scorers: [{ scorer: "scorng" }] }),
    'Cannot register task "words" of measuring/words.ts: Unknown scorer "scorng". Did you mean ' +
      '"scoring"? Known: losing, scoring',
  );
  assert.match(said({ scorers: [] }), /it must say by "scorers" what scores its answers: .*losing/);
  assert.match(
    said({ scorers: [{ scorer: "losing" }] }),
    /its reported_metric must be what its first scorer gives: it is accuracy, losing gives perpl/,
  );
  assert.match(
    said({ scorers: [{ scorer: "scoring" }, { scorer: "losing" }] }),
    /its scorer losing reads windows, and its rows are no windows of a text/,
  );
  assert.match(
    said({ window_tokens: 64 }),
    /its scorer scoring reads choices or text, and its rows are windows of a text/,
  );
  assert.match(said({ scorers: [{ scorer: "scoring", params: { a: 1 } }] }), /with {"a":1}/);
  assert.match(said({ runs_code: true }), /it says runs_code, and none of its scorers runs any/);
  const runs = at("measuring/scoring.ts", { ...scoring, runs_code: true });
  assert.match(refusal(at("measuring/words.ts", words), runs), /scoring runs what the model wrote/);
});
