/** Names that MLflow's rules would make one stay apart, and a restart gives the same ones. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { newNameBook } from "../../../../tracker/exchange/mlflow/describe/names.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { startFakeServer } from "./fake_server.ts";
import { mirrorTo } from "./mirror_world.ts";

const AT = 1_700_000_000_000;

/** Logs each name at a step of its own. */
async function log(root: string, trial: string, names: readonly string[]): Promise<number> {
  await using store = await openStore(root, { write: true });
  const run = store.openRun({ study_id: "s", trial_id: `s/${trial}` });
  for (const [n, name] of names.entries()) {
    await run.log({ [name]: n }, { step: n, happened_at: AT });
  }
  return (await store.status()).journal_bytes;
}

/** A server that keeps each run's points, as `key@step`, and its tags about names. */
function keeping() {
  const points = new Map<string, Set<string>>();
  const tags = new Map<string, Map<string, string>>();
  const server = startFakeServer((batch) => {
    const name = server.runs.get(batch.run_id)!;
    const kept = points.get(name) ?? new Set();
    points.set(name, kept);
    for (const { key, step } of batch.metrics) kept.add(`${key} at ${step}`);
    const said = tags.get(name) ?? new Map<string, string>();
    tags.set(name, said);
    for (const { key, value } of batch.tags) said.set(key, value);
    return null;
  });
  return {
    server,
    seen: () =>
      Object.fromEntries([...points].map(([run, kept]) => [run, {
        points: [...kept].sort(),
        tags: Object.fromEntries(tags.get(run)!),
      }])),
  };
}

Deno.test("acc@1, acc#1 and acc_1 are three metrics on the server, said once, the same after a restart", () =>
  inDirectory(async (root) => {
    const book = newNameBook();
    const [first, second, third] = ["acc@1", "acc#1", "acc_1"]
      .map((name) => book.nameOf("metrics", name).name);
    assert.equal(first, "acc_1");
    assert.match(second!, /^acc_1-[0-9a-f]{8}$/);
    assert.equal(new Set([first, second, third]).size, 3);
    assert.equal(book.nameOf("params", "acc#1").name, "acc_1"); // nothing there has the name

    const store = join(root, "store");
    const stopped = await log(store, "t01", ["acc@1", "acc#1", "top-1"]);
    const to = await log(store, "t02", ["acc#1", "acc_1"]);
    const whole = keeping();
    const said: string[] = [];
    const once = mirrorTo(whole.server.uri, store, { onSaid: (sentence) => said.push(sentence) });
    once.follow("s", null);
    await once.pass({ s: to });
    assert.deepEqual(whole.seen(), {
      t01: {
        points: ["acc_1 at 0", "top-1 at 2", `${second} at 1`].sort(),
        tags: { "pare.name.acc_1": "acc@1", [`pare.name.${second}`]: "acc#1" },
      },
      t02: {
        points: [`${second} at 0`, `${third} at 1`].sort(),
        tags: {
          "pare.name.acc_1": "acc@1",
          [`pare.name.${second}`]: "acc#1",
          [`pare.name.${third}`]: "acc_1",
        },
      },
    });
    assert.equal(said.length, 2, said.join("\n"));
    assert.equal(
      said[0],
      `In MLflow "acc#1" of s is called ${second}: its rules for names would make it acc_1, as ` +
        `which "acc@1" is there already`,
    );
    await whole.server.stop();

    // Stopped between the trials, and gone on with by another process.
    const restarted = keeping();
    for (const end of [stopped, to]) {
      const mirror = mirrorTo(restarted.server.uri, store);
      mirror.follow("s", null);
      await mirror.pass({ s: end });
    }
    await restarted.server.stop();
    assert.deepEqual(restarted.seen(), whole.seen());
  }));
