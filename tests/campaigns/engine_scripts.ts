/** The twenty scripts of the simulator, on engines that really run them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { LocalEngine } from "../../tracker/jobs/engines/local/local_engine.ts";
import { SlurmEngine } from "../../tracker/jobs/engines/slurm/slurm_engine.ts";
import { hasRay, NO_RAY, startRay } from "../fixtures/ray_cluster.ts";
import { hasSlurm, NO_SLURM, startSlurm } from "../fixtures/slurm_cluster.ts";
import { ignoreUnless } from "../run/counts.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import type { EngineWorld } from "../tracker/jobs/engine_cases.ts";
import { really, SCRIPTS } from "../tracker/jobs/engine_scripts.ts";

const detached = { sanitizeOps: false, sanitizeResources: false };

async function allAsSeen(
  open: (root: string) => ReturnType<EngineWorld["open"]>,
  patience_ms = 60_000,
) {
  const root = temporaryFolder("scripts");
  const world: EngineWorld = {
    ...{ root, open: () => open(root), patience_ms },
    ...{ log_bytes: 0, queue_runs: 0, queued: 0 },
  };
  const seen: string[] = [];
  for (const script of SCRIPTS) seen.push(await really(world, script));
  assert.deepEqual(seen, SCRIPTS.map((script) => script.seen));
}

Deno.test({
  name: "local: twenty scripts end as they do in the simulator",
  ...detached,
  async fn() {
    const slots = { cpu: 2, gpu: 0, memory_gb: 4 };
    const devices = { slots, cards: [], machine: "here" };
    await allAsSeen((root) => new LocalEngine(join(root, "books"), devices));
  },
});

Deno.test({
  name: "slurm: twenty scripts end as they do in the simulator",
  ignore: ignoreUnless(await hasSlurm(), NO_SLURM),
  ...detached,
  async fn() {
    const cluster = await startSlurm();
    try {
      for (const [name, value] of Object.entries(cluster.env)) Deno.env.set(name, value);
      const none = { account: null, minutes: null, gres: "gpu", extra: [], machine: null };
      const options = { partition: "low", deno: Deno.execPath(), ...none };
      await allAsSeen(() => new SlurmEngine("slurm:low", options));
    } finally {
      cluster.end();
    }
  },
});

Deno.test({
  name: "ray: twenty scripts end as they do in the simulator",
  ignore: ignoreUnless(await hasRay(), NO_RAY),
  ...detached,
  async fn() {
    const cluster = await startRay();
    try {
      await allAsSeen(() => cluster.engine(), 240_000);
    } finally {
      cluster.end();
    }
  },
});
