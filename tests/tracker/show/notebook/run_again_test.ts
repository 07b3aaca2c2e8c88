/** Cells that are run twice: the lab and the session that are open come back. */
import assert from "node:assert/strict";
import { UsageError } from "../../../../core/mod.ts";
import { openLab } from "../../../../tracker/mod.ts";
import { labsAgain, sessionsAgain } from "../../../../tracker/show/notebook/run_again.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { mediaOf } from "./world_session.ts";

interface Options {
  readonly store: string;
  readonly write?: boolean;
  readonly onSetup?: (line: string) => void;
}

Deno.test("a lab that is open comes back and tells its new caller; another kind closes it first", async () => {
  const made: { tell: (line: string) => void; closed: boolean }[] = [];
  const open = labsAgain(({ store }: Options) => store, ({ onSetup }: Options) => {
    const one = { tell: onSetup!, closed: false };
    made.push(one);
    const close = () => {
      one.closed = true;
      return Promise.resolve();
    };
    return Promise.resolve({ close, [Symbol.asyncDispose]: close });
  });
  const told: string[] = [];
  const first = await open({ store: "a", onSetup: (line) => told.push(`first ${line}`) });
  const again = await open({ store: "a", onSetup: (line) => told.push(`again ${line}`) });
  assert.equal(first, again);
  made[0]!.tell("model");
  assert.deepEqual([made.length, told], [1, ["again model"]]);
  await open({ store: "b" });
  await open({ store: "a", write: true });
  assert.deepEqual(made.map(({ closed }) => closed), [true, false, false]);
  await first.close();
  await open({ store: "a" });
  assert.equal(made.length, 4, "one that was closed is opened anew");
  await first.close();
  assert.deepEqual(made.map(({ closed }) => closed), [true, false, true, true], "a's, not b's");
});

Deno.test("a session that failed to open is opened anew, one that opened comes back", async () => {
  const again = sessionsAgain<number>(true);
  let begun = 0;
  await assert.rejects(again("a", () => Promise.reject(new UsageError("no"))), UsageError);
  const begin = () => Promise.resolve(++begun);
  assert.deepEqual([await again("a", begin), await again("a", begin)], [1, 1]);
  assert.equal(await again("b", begin), 2);
  assert.equal(await sessionsAgain<number>(false)("b", begin), 3);
});

Deno.test("a notebook's lab on an empty store says what it lacks, and its sentences stand alone", () =>
  inDirectory(async (store) => {
    const lab = await openLab({ store, notebook: true });
    assert.equal(await openLab({ store, notebook: true }), lab);
    assert.match((await mediaOf(await lab.studies()))["text/plain"]!, /Nothing is recorded/);
    await assert.rejects(
      lab.compare("a", "b"),
      /Cannot compare anything in the store .* nothing is recorded/,
    );
    await assert.rejects(lab.note("a", "b"), /nothing is recorded there yet/);
    await lab.close();
    await using other = await openLab({ store, notebook: true });
    assert.notEqual(other, lab);
    const before = UsageError.sentenceOnly;
    UsageError.sentenceOnly = true;
    try {
      assert.equal(new UsageError("Cannot.").stack, "Cannot.");
    } finally {
      UsageError.sentenceOnly = before;
    }
  }));
