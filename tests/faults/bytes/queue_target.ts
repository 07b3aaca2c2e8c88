/** A queue's journal: all that was acknowledged, or a refusal that leaves the file as it is. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { emptyQueue, JobEvent, type Queue, reduce } from "../../../core/mod.ts";
import { QueueDisk } from "../../../tracker/store/queue/queue_disk.ts";
import { queueLine } from "../../../tracker/store/queue/queue_line.ts";
import { preemptingQueue } from "../workloads/queue_events.ts";
import { holdInvariants } from "../invariants.ts";
import { sometimes } from "../loop.ts";
import { linesIn } from "./mutations.ts";
import { refusalOf, type Target } from "./target.ts";

function state(queue: Queue): string {
  return JSON.stringify([...queue.jobs.values()]);
}

const NEXT: JobEvent = {
  ...{ type: "budget_set", at: "2026-03-01T12:00:00.000Z", machine: "kept", study: null },
  ...{ hours: 1, reserve_hours: 0 },
};

export async function queueTarget(folder: string): Promise<Target> {
  const path = join(folder, "queue", "journal.jsonl");
  await Deno.mkdir(join(folder, "queue"), { recursive: true });
  const events = preemptingQueue().map((one) => JobEvent.parse(one));
  const bytes = new TextEncoder().encode(events.map(queueLine).join(""));
  const ends = linesIn(bytes).map(([, to]) => to);
  const whole = (n: number) => state(events.slice(0, n).reduce(reduce, emptyQueue()));
  const all = whole(events.length);
  return {
    ...{ file: "queue/journal.jsonl", bytes, lines: true, kind: "hopeless" },
    async check({ how, bytes: damaged, from, to }) {
      await Deno.writeFile(path, damaged);
      const found = await refusalOf(() => new QueueDisk(path).current());
      if ("refusal" in found) {
        await holdInvariants({ refusal: found.refusal });
        assert.notEqual(how, "cut", "a torn end was never acknowledged");
        const next = await refusalOf(() => new QueueDisk(path).transact(() => [NEXT]));
        assert.ok("refusal" in next, "what cannot be read was written to");
        assert.deepEqual(await Deno.readFile(path), damaged, "a refusal changed the file");
        return sometimes("a damaged queue is refused and left alone");
      }
      await holdInvariants({ queue: found.value });
      const kept = how === "cut" ? ends.filter((end) => end <= from).length : events.length;
      const last = how === "zeros" && to === bytes.length; // as a write that was cut off leaves it
      const before = state(found.value);
      if (how !== "swap" && how !== "double") {
        // Whose end a bit took is whole again once somebody writes.
        const few = how === "cut" ? [whole(kept)] : [whole(kept), whole(kept - 1)];
        assert.ok(few.includes(before), "acknowledged events are lost without a word");
      }
      await new QueueDisk(path).transact(() => [NEXT]);
      const after = new QueueDisk(path).current();
      if (how === "flip" || how === "insert") assert.equal(state(after), all, "an event is lost");
      else if (how !== "cut" && !last) assert.equal(state(after), before, "an event went or came");
      assert.ok(after.budgets.some(({ machine }) => machine === "kept"), "the next event is lost");
    },
  };
}
