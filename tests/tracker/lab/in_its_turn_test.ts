import assert from "node:assert/strict";
import { Slots } from "../../../core/loop/beside/slots.ts";
import type { Alone } from "../../../core/mod.ts";
import { inItsTurn } from "../../../tracker/lab/runner/machine/in_its_turn.ts";

/** Two slots, of which another call has one, and who takes all of them as the loop does. */
async function twoSlots() {
  const slots = new Slots(2, true);
  await slots.take(1);
  await slots.take(2);
  const seen: string[] = [];
  const alone: Alone = async (work) => {
    await slots.takeAll();
    try {
      return await work();
    } finally {
      await slots.giveAll(1);
    }
  };
  const rest = () => {
    seen.push("rest");
    return { [Symbol.dispose]: () => void seen.push("go on") };
  };
  return { slots, seen, alone, rest };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 5));

Deno.test("a call loads beside another and is timed without it, and others go on at its process's end", async () => {
  const { slots, seen, alone, rest } = await twoSlots();
  const written = Promise.withResolvers<void>();
  const timed = inItsTurn(alone, rest, async ({ begin, end }) => {
    seen.push("load");
    await begin();
    seen.push("timed");
    end();
    await written.promise; // such as its log
    return 7;
  });
  await soon();
  assert.deepEqual(seen, ["load"]);
  const next = slots.take(3)?.then(() => seen.push("next"));
  slots.give();
  await next;
  assert.deepEqual(seen, ["load", "rest", "timed", "go on", "next"]);
  written.resolve();
  assert.equal(await timed, 7);
});

Deno.test("a call that runs again keeps its turn, and one that fails before it gives it back", async () => {
  const twice = await twoSlots();
  twice.slots.give();
  await inItsTurn(twice.alone, twice.rest, async ({ begin }) => {
    await begin();
    await begin();
  });
  assert.deepEqual(twice.seen, ["rest", "go on"]);
  const failing = await twoSlots();
  const ended = assert.rejects(
    inItsTurn(failing.alone, failing.rest, ({ begin }) => {
      void begin();
      throw new Error("its process died");
    }),
    /its process died/,
  );
  await soon();
  failing.slots.give();
  await ended;
  assert.deepEqual(failing.seen, ["rest", "go on"]);
  assert.equal(failing.slots.take(4), null, "a slot is free again");
});

Deno.test("a call that asks for no turn makes nobody wait", async () => {
  const { slots, seen, alone, rest } = await twoSlots();
  assert.equal(await inItsTurn(alone, rest, () => Promise.resolve(1)), 1);
  assert.deepEqual(seen, []);
  slots.give();
  assert.equal(slots.take(3), null);
});
