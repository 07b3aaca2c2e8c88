/** What every engine must do beyond tests/long/engine_ray.ts. */
import { hasRay, NO_RAY, startRay } from "../fixtures/ray_cluster.ts";
import { ignoreUnless } from "../run/counts.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { engineCases, type EngineWorld } from "../tracker/jobs/engine_cases.ts";

const there = await hasRay();
const ignored = () => ignoreUnless(there, NO_RAY);
const cluster = there ? await startRay() : null;
globalThis.addEventListener("unload", () => cluster?.end());

const world: EngineWorld = {
  root: temporaryFolder("ray-engine"),
  open: () => cluster!.engine(),
  ...{ patience_ms: 90_000, log_bytes: 50_000_000, queue_runs: 2, queued: 20 },
};
// Last: what was cancelled while it waited stays in the head's line until it has begun and seen that.
engineCases("ray", () => world, ignored, "others");
