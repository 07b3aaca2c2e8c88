/** The strategist against a scripted model: what it is told, what is taken, refused and recorded. */
import assert from "node:assert/strict";
import { type Chat, type ChatMessage, type JournalRecord } from "../../core/mod.ts";
import random from "../../plugins/search/random.ts";
import strategist from "../../plugins/search/strategist.ts";
import { historyOf, run, type World, world } from "../core/study_world.ts";

type Script = (messages: readonly ChatMessage[], times: number) => string | null;

/** A model that answers by the script; null: no answer comes. */
function scripted(script: Script): { chat: Chat; asked: ChatMessage[][] } {
  const asked: ChatMessage[][] = [];
  const chat: Chat = {
    base_url: "http://nowhere/v1",
    async ask(messages) {
      await Promise.resolve();
      asked.push([...messages]);
      const text = script(messages, asked.length);
      return text === null
        ? { ok: false, reason: "nobody there", model: null }
        : { ok: true, text, model: "m" };
    },
  };
  return { chat, asked };
}

const recipe = (bits: number, more: object = {}, params: object = {}) =>
  JSON.stringify({
    actions: [{ agent: "shrinking", method: "solve", params: { bits, group_size: 32, ...params } }],
    reason: "8 bits held",
    ...more,
  });

async function study(script: Script, limit = 7, w: World = world({ max_trials: limit })) {
  const { chat, asked } = scripted(script);
  const ports = { ...w.ports, chat };
  const result = await run({ ...w, ports }, { samplers: [random, strategist] });
  return { ...result, asked, records: w.records, ...told(w.records) };
}

const told = (records: readonly JournalRecord[]) => ({
  consulted: records.flatMap((one) => one.type === "consulted" ? [one] : []),
  refused: records.flatMap((one) => one.type === "episode_closed" ? one.episode.refused : []),
});

const samplersOf = (trials: readonly { strategy: { origin: { sampler: string } } | null }[]) =>
  trials.flatMap(({ strategy }) => strategy === null ? [] : [strategy.origin.sampler]);

Deno.test("what the model proposes is run, said in its words, and recorded with what it was told", async () => {
  const { trials, consulted, asked } = await study((_, n) =>
    recipe(8, { evidence: [], reason: "as\nit | is <b>[x](y)</b>" }, { damping: 0.01 * n })
  );
  const own = trials.filter(({ strategy }) => strategy?.origin.sampler === "strategist");
  assert.ok(own.length > 0);
  assert.equal(own[0]!.strategy!.origin.reason, "the strategist: as it | is ‹b›[x] (y)‹/b›");
  const [first] = consulted;
  assert.deepEqual([first!.outcome, first!.reason, first!.exchange], ["proposed", null, 0]);
  assert.deepEqual(first!.messages, asked[0]);
  assert.deepEqual(first!.evidence, trials.slice(0, first!.evidence.length).map((t) => t.trial_id));
  const shown = JSON.parse(asked[0]![1]!.content);
  assert.deepEqual(shown.trials.map(({ id }: { id: string }) => id), first!.evidence);
  assert.ok(shown.methods.every(({ method }: { method: string }) => method !== "gpu_only"));
  assert.match(
    shown.methods.find((one: { method: string }) => one.method === "solve").knobs.bits,
    /2, 3, 4, 8/,
  );
  assert.ok(!JSON.stringify(asked).includes("/nowhere"), "no path of the machine");
});

Deno.test("it takes every second turn at most, and never has a study for itself", async () => {
  const w = world({ max_trials: 12 });
  const { trials } = await study((_, n) => recipe(8, {}, { damping: 0.001 * n }), 12, w);
  const after = samplersOf(trials).filter((name) => name !== "seed");
  assert.ok(after.filter((name) => name === "strategist").length >= 3, after.join());
  after.forEach((name, at) =>
    assert.ok(name !== "strategist" || after[at - 1] !== "strategist", after.join())
  );
  // Where the others have nothing, it is passed over every second time all the same.
  const { chat } = scripted((_, n) => recipe(8, {}, { damping: 0.001 * n }));
  const alone = world({ max_trials: 12 });
  const silent = { ...random, name: "silent", propose: () => null };
  const { trials: few, stop } = await run({ ...alone, ports: { ...alone.ports, chat } }, {
    samplers: [silent, strategist],
  });
  assert.equal(stop, "exhausted");
  assert.equal(samplersOf(few).filter((name) => name === "strategist").length, 1);
});

Deno.test("a refusal is fed back once, with its reason", async () => {
  const { trials, consulted, asked } = await study((messages, n) =>
    messages.length === 2 ? recipe(5) : recipe(8, {}, { damping: 0.01 * n })
  );
  assert.match(consulted[0]!.reason!, /bits = 5 as bits is one of 2, 3, 4, 8/);
  assert.deepEqual([consulted[0]!.outcome, consulted[1]!.outcome], ["refused", "proposed"]);
  assert.deepEqual(asked[1]!.slice(2).map(({ role }) => role), ["assistant", "user"]);
  assert.match(asked[1]![3]!.content, /^Refused: Cannot use solve with bits = 5/);
  assert.deepEqual(consulted[1]!.messages, asked[1]!.slice(2), "what was added");
  assert.ok(samplersOf(trials).includes("strategist"));
});

const REFUSALS: readonly (readonly [reply: string, why: RegExp])[] = [
  ["I would try 4 bits.", /holds no JSON object/],
  ["<!doctype html>", /holds no JSON object/],
  ['{"actions": [}', /holds no JSON object/],
  ["[]", /holds no JSON object/],
  ["{}", /actions is wrong/],
  ['{"actions": []}', /actions is wrong/],
  [
    '{"actions": [{"agent": "shrinking", "method": "octet", "params": {"__proto__": {}}}], "reason": 3}',
    /wrong/,
  ],
  [recipe(8).replace("solve", "sovle"), /Did you mean "solve"/],
  [recipe(8).replace("solve", "gpu_only"), /Unknown method/],
  [recipe(8).replace("bits", "bitz"), /Unknown knob of solve "bitz"\. Did you mean "bits"/],
  [recipe(8, {}, { damping: 1e9 }), /damping/],
  [recipe(8, { evidence: ["study/t99"] }), /names study\/t99, which is no trial/],
  [
    JSON.stringify({ actions: [1, 2].map(() => ({ agent: "shrinking", method: "octet" })) }),
    /cannot follow/,
  ],
];

for (const [reply, why] of REFUSALS) {
  Deno.test(`refused twice, its turn is the next sampler's: ${reply.slice(0, 60)}`, async () => {
    const { trials, consulted } = await study(() => reply, 6);
    assert.ok(consulted.length >= 2);
    for (const one of consulted) {
      assert.match(one.reason!, why);
      assert.deepEqual([one.outcome, one.reply], ["refused", reply]);
    }
    assert.deepEqual(consulted.slice(0, 2).map(({ exchange }) => exchange), [0, 1]);
    assert.ok(!samplersOf(trials).includes("strategist"));
    assert.equal(trials.length, 7, "the others went on");
  });
}

Deno.test("a recipe that was tried is refused with the trial that had it", async () => {
  const { consulted } = await study(() => recipe(8, {}, { damping: 0.05 }), 9);
  const [first, ...later] = consulted;
  assert.equal(first!.outcome, "proposed");
  assert.ok(later.length >= 2);
  for (const one of later) assert.match(one.reason!, /t\d+ had this very recipe/);
});

Deno.test("where no answer comes it is not asked again in that turn, and nothing is missed", async () => {
  const { trials, consulted } = await study(() => null, 6);
  assert.ok(consulted.length > 0);
  for (const one of consulted) {
    assert.deepEqual([one.outcome, one.reply, one.exchange], ["failed", null, 0]);
    assert.equal(one.reason, "nobody there");
  }
  assert.equal(trials.length, 7);
  const w = world({ max_trials: 6 });
  const without = await run(w, { samplers: [random, strategist] });
  assert.equal(without.trials.length, 7);
  assert.equal(told(w.records).consulted.length, 0, "no endpoint");
});

Deno.test("an answer in a fence, or behind what was thought, is read; the words of evidence are its mode", async () => {
  const fenced = (messages: readonly ChatMessage[], n: number) => {
    const { trials } = JSON.parse(messages[1]!.content);
    const front = trials.find((one: { on_front: boolean }) => one.on_front).id;
    return "<think>{not this}</think>\n```json\n" +
      recipe(8, { evidence: [front] }, { damping: 0.01 * n }) + "\n```";
  };
  const { trials, consulted } = await study(fenced);
  assert.equal(consulted[0]!.outcome, "proposed");
  const own = trials.find(({ strategy }) => strategy?.origin.sampler === "strategist")!;
  assert.equal(own.strategy!.origin.mode, "exploit");
  assert.match(own.strategy!.origin.reason, /\(by .*t00\)|\(by .*t0\d\)/);
});

Deno.test("a study that goes on takes the recorded answer and does not ask the model again", async () => {
  const w = world({ max_trials: 8 });
  await study((_, n) => recipe(8, {}, { damping: 0.01 * n }), 8, w);
  const at = w.records.findIndex((one) => one.type === "proposed" && one.sampler === "strategist");
  const again = world({ max_trials: 8 });
  const kept = w.records.slice(0, at + 1);
  const { chat, asked } = scripted((_, n) => recipe(3, {}, { damping: 0.02 * n }));
  const history = historyOf({ ...w, records: kept });
  const { trials } = await run({ ...again, ports: { ...again.ports, chat } }, {
    samplers: [random, strategist],
    history,
  });
  const own = trials.filter(({ strategy }) => strategy?.origin.sampler === "strategist");
  assert.equal(own[0]!.actions[0]!.params["bits"], 8, "the recorded one");
  assert.ok(own.slice(1).every(({ actions }) => actions[0]!.params["bits"] === 3));
  assert.equal(asked.length, own.length - 1);
});
