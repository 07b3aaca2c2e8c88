import assert from "node:assert/strict";
import { currentAnswers } from "../../../tracker/store/query/current_answers.ts";

const CAUGHT_UP = {
  journal_bytes: 100,
  database_bytes: 100,
  caught_up: true,
  held_by: null,
  set_aside: null,
  error: null,
};

/** A sink whose database is the one that was made anew and has so many bytes of the journal. */
function sinkOf(reached: () => number) {
  let last = CAUGHT_UP;
  let woken = 0;
  return {
    status: () => last,
    flush: () => {
      const database_bytes = reached();
      last = { ...CAUGHT_UP, database_bytes, caught_up: database_bytes === 100 };
      return Promise.resolve(last);
    },
    wake: () => void woken++,
    woken: () => woken,
  };
}

Deno.test("an index that was made anew in part is known to be behind by every later question", async () => {
  let reached = 40;
  const sink = sinkOf(() => reached);
  const ask = currentAnswers(sink);
  const whole = () => Promise.resolve({ rows: 1, stale: null });
  // It was damaged: the question that finds it out has made a part of it anew.
  const found = await ask(() => Promise.resolve({ rows: 1, stale: "40% of the journal" }));
  assert.equal(found.stale, "40% of the journal");
  assert.equal(sink.woken(), 1, "the background makes the rest");
  assert.match((await ask(whole)).stale ?? "", /has 40\.0% of the journal; ask again/);
  reached = 100;
  assert.equal((await ask(whole)).stale, null);
});
