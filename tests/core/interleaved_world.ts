/** A world whose calls take long: who goes on next is drawn, and what may not be beside what is watched. */
import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import {
  type Alone,
  type Backend,
  runStudy,
  type Sampler,
  seededRandom,
  type StudyInput,
} from "../../core/mod.ts";
import { RECIPES, type World } from "./study_world.ts";

/** A recipe of the list by its knobs. */
function nameOf(params: Readonly<Record<string, unknown>> = {}): string {
  return ["bits", "group_size", "targets"].map((knob) => params[knob]).join(" ");
}

/** The recipes of a list, each once, in order: what is tried or under way is passed over. */
export const fromList: Sampler = {
  kind: "sampler",
  name: "from_list",
  summary: "takes the next of a list",
  propose({ trials, under_way }) {
    const known = [...trials, ...under_way].map(({ actions: [first] }) => nameOf(first?.params));
    const next = RECIPES.find(({ params }) => !known.includes(nameOf(params)));
    return next === undefined
      ? null
      : { actions: [next], origin: { mode: "explore", reason: "next in the list" } };
  },
};

/** What was seen of the calls. */
export interface Watched {
  /** Calls that computed at once, at most. */
  most: number;
  timings: number;
  /** Timings that were made at once after one another, with no call between them. */
  bunched: number;
}

interface Waiting {
  readonly trial_id: string;
  readonly go: () => void;
}

/** Runs a study of the world, its calls ended in the order that a seed draws; `each`: told of every step. */
export async function interleaved(
  w: World,
  seed: number,
  more: Partial<StudyInput> = {},
  each: (step: number) => void = () => {},
  drive = runStudy,
) {
  const random = seededRandom(seed);
  const workers = Number(w.input().request.workers ?? 1);
  const waiting: Waiting[] = [];
  const watched: Watched = { most: 0, timings: 0, bunched: 0 };
  let [computing, timing, after_timing] = [0, false, false];
  const turn = (trial_id: string) => new Promise<void>((go) => waiting.push({ trial_id, go }));
  const begin = () => {
    assert.equal(timing, false, "nothing computes beside a timing");
    computing++;
    after_timing = false;
    watched.most = Math.max(watched.most, computing);
    assert.ok(computing <= workers, `${computing} calls on ${workers} slots`);
  };
  async function computed<T>(trial_id: string, call: () => Promise<T>): Promise<T> {
    begin();
    try {
      await turn(trial_id);
      return await call();
    } finally {
      computing--;
    }
  }
  const aloneIn = (trial_id: string, alone: Alone): Alone => async (work) => {
    computing--;
    try {
      return await alone(async () => {
        assert.deepEqual([computing, timing], [0, false], "a timing is alone");
        timing = true;
        watched.timings++;
        if (after_timing) watched.bunched++;
        await turn(trial_id);
        try {
          return await work();
        } finally {
          timing = false;
          after_timing = true;
        }
      });
    } finally {
      begin();
    }
  };
  const { apply, evaluate, speed } = w.backend;
  const backend: Backend = {
    apply: (id, ...rest) => computed(id, () => apply(id, ...rest)),
    evaluate: (id, ...rest) => computed(id, () => evaluate(id, ...rest)),
    speed: (id, artifact, baseline, runtime, alone) =>
      computed(id, async () => {
        const timed = await speed(id, artifact, baseline, runtime, aloneIn(id, alone));
        await turn(id); // what follows the timing computes again
        return timed;
      }),
  };
  let ended = false;
  const running = drive(w.input({ samplers: [fromList], ...more }), { ...w.ports, backend })
    .finally(() => ended = true);
  running.catch(() => {}); // the caller is told
  for (let step = 0, idle = 0; !ended && idle < 100; step++) {
    await setImmediate();
    const drawn = Math.floor(random() * waiting.length);
    const [next] = waiting.splice(drawn, 1);
    idle = next === undefined ? idle + 1 : 0;
    if (next === undefined) continue;
    each(step);
    next.go();
  }
  assert.ok(ended, "no trial waits for ever");
  return { result: await running, watched };
}
