import { join } from "node:path";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { engineCases } from "./engine_cases.ts";

const root = temporaryFolder("local-engine");
const devices = { slots: { cpu: 2, gpu: 2, memory_gb: 4 }, cards: ["0", "3"], machine: "made-up" };

engineCases("local", () => ({
  root,
  open: () => new LocalEngine(join(root, "books"), devices),
  ...{ patience_ms: 60_000, log_bytes: 50_000_000, queue_runs: 6, queued: 200 },
}));
