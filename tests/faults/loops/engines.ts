/** Engines that really run: the simulator's scripts, a queue under kills, and Ray's head that dies. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Engine } from "../../../core/jobs/engine.ts";
import { streamRandom } from "../../../core/random.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { SlurmEngine } from "../../../tracker/jobs/engines/slurm/slurm_engine.ts";
import { hasRay, NO_RAY, startRay } from "../../fixtures/ray_cluster.ts";
import { hasSlurm, NO_SLURM, startSlurm } from "../../fixtures/slurm_cluster.ts";
import type { EngineWorld } from "../../tracker/jobs/engine_cases.ts";
import { really, SCRIPTS } from "../../tracker/jobs/engine_scripts.ts";
import { type Injected, injecting, type Loop, sometimes } from "../loop.ts";
import { eachDoneOnce, type Under } from "../processes/queue_kills.ts";
import { headDies } from "../processes/ray_head.ts";
import { folderIn } from "../runs/run_faults.ts";
import { inTurn } from "../shuffled_places.ts";

/** An engine that runs. */
interface Running {
  open(root: string): Engine;
  readonly patience_ms: number;
  readonly under: Under;
  /** What is done to its head, where it has one. */
  readonly dies?: (world: EngineWorld) => Promise<void>;
  end(): void;
}

interface Place {
  readonly name: string;
  /** Null: it is here. */
  lacks(): Promise<string | null>;
  start(): Promise<Running>;
  readonly has_head: boolean;
}

const PLACES: readonly Place[] = [
  {
    name: "local",
    has_head: false,
    lacks: () => Promise.resolve(null),
    start() {
      const slots = { cpu: 2, gpu: 0, memory_gb: 4 };
      const devices = { slots, cards: [], machine: "here" };
      return Promise.resolve({
        open: (root) => new LocalEngine(join(root, "books"), devices),
        patience_ms: 60_000,
        under: { engine: "local", calm_ms: 700, env: {} },
        end() {},
      });
    },
  },
  {
    name: "slurm",
    has_head: false,
    lacks: async () => await hasSlurm() ? null : NO_SLURM,
    async start() {
      const cluster = await startSlurm();
      for (const [name, value] of Object.entries(cluster.env)) Deno.env.set(name, value);
      const none = { account: null, minutes: null, gres: "gpu", extra: [], machine: null };
      const options = { partition: "low", deno: Deno.execPath(), ...none };
      return {
        open: () => new SlurmEngine("slurm:low", options),
        patience_ms: 60_000,
        under: { engine: "slurm:low", calm_ms: 2500, env: cluster.env },
        end: () => cluster.end(),
      };
    },
  },
  {
    name: "ray",
    has_head: true,
    lacks: async () => await hasRay() ? null : NO_RAY,
    async start() {
      const cluster = await startRay();
      const engine = cluster.url.replace("http:", "ray:");
      return {
        open: () => cluster.engine(),
        patience_ms: 240_000,
        under: { engine, calm_ms: 5000, env: { RAY_AUTH_TOKEN: cluster.token } },
        dies: (world) => headDies(world, cluster),
        end: () => cluster.end(),
      };
    },
  },
];

/** Kills of a point, and points of kills on an engine. */
const [KILLS, ROUNDS] = [9, 40];

interface Point {
  readonly place: Place;
  readonly what: "script" | "kills" | "head";
  readonly number: number;
}

async function pointsHere(): Promise<Point[]> {
  const found: Point[] = [];
  for (const place of PLACES) {
    const lacks = await place.lacks();
    if (lacks !== null) console.log(`skipped: ${place.name} of the loop engines: ${lacks}`);
    const many = (what: Point["what"], count: number) =>
      Array.from({ length: count }, (_, number) => ({ place, what, number }));
    if (lacks !== null) continue;
    found.push(...many("script", SCRIPTS.length), ...many("kills", ROUNDS));
    found.push(...many("head", place.has_head ? 1 : 0));
  }
  return found;
}

async function hit({ what, number }: Point, running: Running, root: string, seed: number) {
  if (what === "kills") {
    const random = streamRandom(seed, `kills ${number}`);
    return await eachDoneOnce(root, running.under, { kills: KILLS, random });
  }
  const world: EngineWorld = {
    ...{ root, open: () => running.open(root), patience_ms: running.patience_ms },
    ...{ log_bytes: 0, queue_runs: 0, queued: 0 },
  };
  if (what === "head") return await running.dies!(world);
  const script = SCRIPTS[number]!;
  assert.equal(await really(world, script), script.seen);
  sometimes("engines: a script ends as in the simulator");
}

const callOf = ({ what, number }: Point) =>
  what === "script"
    ? SCRIPTS[number]!.steps.join(", ")
    : what === "head"
    ? "its head dies"
    : `${KILLS} kills of drivers, wrappers and programs, ${number}`;

export const engines: Loop = {
  name: "engines",
  about: "this machine's slots, SLURM and Ray: the simulator's scripts, kills under a queue",
  reaches: [
    "engines: a script ends as in the simulator",
    "queue: a wrapper is killed",
    "queue: a program is killed",
    "queue: its driver alone is killed",
  ],
  async open(seed, folder) {
    const points = await pointsHere();
    const order = inTurn(points.map(({ place, what }) => `${place.name} ${what}`), seed);
    const started = new Map<Place, Promise<Running>>();
    return {
      points: points.length,
      async at(n): Promise<Injected | undefined> {
        const point = points[order[n] ?? -1];
        if (point === undefined) return undefined;
        const injected = {
          file: point.place.name,
          call: callOf(point),
          kind: "survivable",
        } as const;
        return await injecting(injected, async () => {
          const running = started.get(point.place) ?? point.place.start();
          started.set(point.place, running);
          running.catch(() => started.delete(point.place)); // the next point starts it anew
          await hit(point, await running, folderIn(folder, `${n}`), seed);
        });
      },
      async [Symbol.asyncDispose]() {
        for (const running of started.values()) (await running).end();
      },
    };
  },
};
