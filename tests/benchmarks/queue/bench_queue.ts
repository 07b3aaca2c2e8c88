/**
 * Measures what a queue's decisions take, without disk and engines; prints a table.
 *
 *     deno task bench:queue
 */
import { openQueue, submitJob } from "../../../core/jobs/ask.ts";
import { decide } from "../../../core/jobs/decide.ts";
import type { Capacity } from "../../../core/jobs/engine.ts";
import { type JobEvent, PRIORITIES } from "../../../core/jobs/events.ts";
import { listQueue } from "../../../core/jobs/list.ts";
import { emptyQueue, type Queue } from "../../../core/jobs/queue_state.ts";
import { reduce } from "../../../core/jobs/reduce.ts";
import type { Observed } from "../../../core/jobs/settle.ts";
import { streamRandom } from "../../../core/random.ts";
import { asked, cpus, START } from "../../core/jobs/scene.ts";
import { runSeeds } from "../../core/jobs/simulation/run_seeds.ts";

const REPEATS = 20;

/** Events of so many jobs of random needs. */
function submissions(jobs: number): JobEvent[] {
  const random = streamRandom(7, "bench");
  const queue = emptyQueue();
  const at = new Date(START).toISOString();
  const events: JobEvent[] = [];
  const tell = (told: JobEvent[]) => {
    for (const event of told) events.push(event), reduce(queue, event);
  };
  tell(openQueue(queue, "1f2e3d4c", at));
  for (let n = 0; n < jobs; n++) {
    tell(submitJob(
      queue,
      asked(`${n}`, {
        priority: PRIORITIES[random() < 0.02 ? 0 : random() < 0.7 ? 1 : 2]!,
        slots: cpus(1 + Math.floor(4 * random())),
        estimate_seconds: 600 + 36_000 * random(),
        size: `${Math.floor(10 * random())}`,
      }),
      at,
    ));
  }
  return events;
}

function made(events: readonly JobEvent[]): Queue {
  return events.reduce(reduce, emptyQueue());
}

/** Engines of so many slots each, `taken` of them by others; four on one machine. */
interface Engines {
  readonly count: number;
  readonly slots: number;
}

function seen({ count, slots }: Engines): Observed {
  const [total, largest] = [cpus(slots), cpus(4)];
  const capacity: Capacity = { total, free: total, largest, machine: "cpu" };
  const names = Array.from({ length: count }, (_, n) => `engine ${n}`);
  return { engines: new Map(names.map((name) => [name, capacity])), attempts: new Map() };
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!;
}

/** Median milliseconds of what `prepare` makes ready. */
function time(prepare: () => () => unknown): number {
  return median(Array.from({ length: REPEATS }, () => {
    const run = prepare();
    const began = performance.now();
    run();
    return performance.now() - began;
  }));
}

/** A queue after all decisions on what was seen. */
function decided(events: readonly JobEvent[], observed: Observed): Queue {
  const queue = made(events);
  for (let more = true; more;) {
    const next = decide(queue, observed, START);
    for (const event of next) reduce(queue, event);
    more = next.length > 0;
  }
  return queue;
}

/** Slots are free, and the compute budget is spent: the whole line is read, and nobody begins. */
function stuck(events: readonly JobEvent[]): JobEvent[] {
  const spent = { machine: null, study: null, hours: 0, reserve_hours: 0 };
  return [...events, { type: "budget_set", at: events[0]!.at, ...spent }];
}

function decisionRow(jobs: number, engines: Engines): string {
  const events = submissions(jobs);
  const observed = seen(engines);
  const first = time(() => {
    const queue = made(events);
    for (const event of decide(queue, observed, START)) reduce(queue, event); // the engines are seen
    return () => decide(queue, observed, START);
  });
  const queue = decided(events, observed);
  const later = time(() => () => decide(queue, observed, START));
  const waiting = decided(stuck(events), observed);
  const worst = time(() => () => decide(waiting, observed, START));
  const list = time(() => () => listQueue(queue, START, new Map()));
  const read = time(() => () => made(events));
  const figures = [first, later, worst, list, read].map((ms) => ms.toFixed(2).padStart(10));
  const slots = String(engines.count * engines.slots).padStart(7);
  return `${String(jobs).padStart(8)} ${slots} ${figures.join(" ")}`;
}

/** Each thread counts its own time, from its first run on. */
async function simulated(): Promise<string> {
  const sizes = [{ jobs: 100, kills: 20 }];
  const ran = await runSeeds({ from: 1, sizes, seconds: 30, most: 600 });
  const each = ran.map(({ runs, seconds }) => runs / seconds);
  return `${
    each.reduce((sum, one) => sum + one, 0).toFixed(0)
  } simulated runs of 100 jobs a second on ` +
    `${each.length} threads`;
}

const MACHINES: Engines = { count: 8, slots: 4 };
const CLUSTER: Engines = { count: 1, slots: 1_000 };

if (import.meta.main) {
  console.log(`median ms of ${REPEATS}`);
  console.log("    jobs   slots     plans    nothing      stuck       list       read");
  for (const jobs of [100, 1_000, 10_000]) console.log(decisionRow(jobs, MACHINES));
  for (const jobs of [10_000, 100_000]) console.log(decisionRow(jobs, CLUSTER));
  console.log(await simulated());
}
