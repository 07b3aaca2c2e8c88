import assert from "node:assert/strict";
import { journalOf } from "../../../fixtures/stores/journals.ts";
import { join } from "node:path";
import { readJournal } from "../../../../tracker/store/journal/reader.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { numbered } from "../../../fixtures/stores/kill_rounds.ts";
import { type Program, startScript } from "../../../fixtures/programs.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";

const STORE = JSON.stringify(import.meta.resolve("../../../../tracker/store/store.ts"));
const EVENTS = JSON.stringify(import.meta.resolve("../../../fixtures/stores/kill_rounds.ts"));

/** Opens the store when a file appears, so that two of them do it in the same moment. */
function racer(root: string, go: string): string {
  return `
    import { openStore } from ${STORE};
    console.log("ready");
    for (;;) { try { Deno.statSync(${JSON.stringify(go)}); break; } catch { /* not yet */ } }
    try {
      const store = await openStore(${JSON.stringify(root)}, { write: true, wait_ms: 0 });
      const { took_over } = await store.take("demo-1");
      console.log(JSON.stringify({ won: true, took_over: took_over?.pid ?? null }));
    } catch (error) {
      console.log(JSON.stringify({ won: false, message: error.message }));
    }
    setInterval(() => {}, 1000);`;
}

interface Said {
  child: Program;
  won: boolean;
  took_over?: number | null;
  message?: string;
}

async function said(child: Program): Promise<Said> {
  return { child, ...JSON.parse(await child.line() ?? "{}") };
}

Deno.test("Two processes that take a study at once: one gets it, the other is told who has it", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    let dead: number | null = null;
    for (let round = 0; round < 4; round++) {
      const go = join(directory, `go-${round}`);
      const two = [
        await startScript(directory, racer(root, go)),
        await startScript(directory, racer(root, go)),
      ];
      for (const child of two) assert.equal(await child.line(), "ready");
      await Deno.writeTextFile(go, "");
      const [a, b] = [await said(two[0]!), await said(two[1]!)];
      const [winner, loser] = a.won ? [a, b] : [b, a];
      assert.deepEqual([winner.won, loser.won], [true, false]);
      assert.match(loser.message ?? "", new RegExp(`process ${winner.child.pid} |another process`));
      // The owner of the round before was killed: its lock is taken over and said.
      assert.equal(winner.took_over, dead);
      dead = winner.child.pid;
      await winner.child.kill();
      await loser.child.kill();
    }
    await using store = await openStore(root, { write: true });
    assert.equal((await store.take("demo-1")).took_over?.pid, dead);
  }));

/** Opens the store, records one event, closes it; as often as asked. */
function visitor(root: string, from: number, visits: number): string {
  return `
    import { openStore } from ${STORE};
    import { numbered } from ${EVENTS};
    for (let n = ${from}; n < ${from + visits}; n++) {
      const store = await openStore(${JSON.stringify(root)}, { write: true, wait_ms: 60_000 });
      await store.record(numbered(n));
      await store.close();
    }
    console.log("done");`;
}

Deno.test("Three processes that take turns at a study lose and double nothing", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const visits = 6;
    const children = await Promise.all(
      [0, 1, 2].map((n) => startScript(directory, visitor(root, n * visits, visits))),
    );
    for (const child of children) assert.equal(await child.line(), "done");
    for (const child of children) await child.kill();
    const all = Array.from({ length: 3 * visits }, (_, n) => JSON.stringify(numbered(n)));
    const found: string[] = [];
    for await (const entry of readJournal(journalOf(root))) {
      found.push(entry.kind === "record" ? JSON.stringify(entry.record) : entry.kind);
    }
    assert.deepEqual(found.sort(), all.sort());
    await using store = await openStore(root, { write: false });
    const { rows } = await store.query(
      "SELECT (SELECT count(*) FROM alerts) + (SELECT count(*) FROM measurements) AS n",
    );
    assert.deepEqual(rows, [{ n: 3 * visits }]);
  }));
