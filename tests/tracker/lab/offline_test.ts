import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { StudyRequest, UsageError } from "../../../core/mod.ts";
import { workerVariables } from "../../../python-backends/client.ts";
import { ensureDemoModel } from "../../../python-backends/demo_model.ts";
import {
  ensureEnvironment,
  overrideVariable,
} from "../../../python-backends/environments/environments.ts";
import { exchange } from "../../../python-backends/worker/exchange.ts";
import { PYTHON_ROOT } from "../../../python-backends/home.ts";
import { OFFLINE_VARIABLES } from "../../../python-backends/offline.ts";
import { spawnWorker } from "../../../python-backends/worker/worker_process.ts";
import { openLab } from "../../../tracker/mod.ts";
import { startHub } from "../../fixtures/hub_server.ts";
import { shareDefaultEnvironment } from "../../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

Deno.test("a model that is not here is not asked of the hub, and its place is said", async () => {
  const hub = startHub({});
  const folder = temporaryFolder("offline");
  try {
    const { python } = await ensureEnvironment("default");
    const ask = async (offline: boolean) => {
      const worker = spawnWorker({
        python,
        args: ["-m", "pare_backends.worker", "--supervised"],
        cwd: PYTHON_ROOT,
        env: workerVariables(1, {
          HF_ENDPOINT: hub.endpoint,
          HF_HOME: folder,
          HF_HUB_CACHE: join(folder, "hub"),
          HF_HUB_OFFLINE: "0",
          HF_TOKEN: "",
          ...(offline ? OFFLINE_VARIABLES : {}),
        }),
        log_path: join(folder, "worker.log"),
      });
      const outcome = await exchange(worker, {
        call: "import_model",
        model_name: "org/nowhere",
        output_dir: join(folder, "unused"),
        trust_remote_code: false,
      }, { request_id: "offline", threads: 1 });
      assert.ok(!outcome.ok);
      return `${outcome.failure.message} | ${outcome.failure.hint}`;
    };
    const said = await ask(true);
    assert.match(said, /"org\/nowhere": .* and --offline keeps the hub out/);
    assert.ok(said.includes(join(folder, "hub", "models--org--nowhere")), said);
    assert.deepEqual(hub.requests, []);
    await ask(false); // the same question is heard where it may be asked
    assert.ok(hub.requests.length > 0);
  } finally {
    await hub.close();
  }
});

Deno.test("an environment and the demo's model are not fetched, and their places are said", async () => {
  const home = temporaryFolder("offline-home");
  const variable = overrideVariable("checks");
  const managed = process.env[variable];
  delete process.env[variable];
  try {
    await assert.rejects(
      ensureEnvironment("checks", { home, offline: true }),
      (error) =>
        error instanceof UsageError && error.message.includes(`keeps it in ${join(home, "envs")}`),
    );
  } finally {
    if (managed !== undefined) process.env[variable] = managed;
  }
  await assert.rejects(
    ensureDemoModel(home, { offline: true }),
    (error) => error instanceof UsageError && error.message.includes(join(home, "demo-model")),
  );
});

Deno.test("a study that is offline loads no plugin from a package", async () => {
  const home = temporaryFolder("offline-lab");
  await shareDefaultEnvironment();
  await using lab = await openLab({ store: join(home, "store") });
  const plugins = ["npm:pare-nowhere"];
  const request = { model_name: "tiny", dataset: "tiny", offline: true, plugins };
  assert.equal(StudyRequest.parse(request).offline, true);
  await assert.rejects(lab.open(request), /npm:pare-nowhere with --offline as it may have to be/);
});
