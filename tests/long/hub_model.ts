import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createBackendClient, workerVariables } from "../../python-backends/client.ts";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { exchange } from "../../python-backends/worker/exchange.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { spawnWorker } from "../../python-backends/worker/worker_process.ts";
import { openLab } from "../../tracker/mod.ts";
import { hubFiles, type HubModel, type HubServer, startHub } from "../fixtures/hub_server.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { trainedTinyModel } from "../tiny_model.ts";

const TOKEN = "hf_thisTokenStandsNowhere";
const OTHERS = "hf_tokenOfAnotherAccount";
/** No variable of the machine's own may reach a hub or a cache other than the test's. */
const OWN = ["HF_TOKEN", "HF_HUB_OFFLINE", "HF_HUB_CACHE", "HF_TOKEN_PATH"];

async function tinyFiles(): Promise<Record<string, Uint8Array>> {
  const client = createBackendClient({ home: temporaryFolder("hub") });
  return hubFiles(await trainedTinyModel(client).finally(() => client.close()));
}

function withConfig(files: HubModel["files"], more: object): HubModel["files"] {
  const config = JSON.parse(new TextDecoder().decode(files["config.json"]));
  return {
    ...files,
    "config.json": new TextEncoder().encode(JSON.stringify({ ...config, ...more })),
  };
}

/** What the call says to a name, in a process of its own; `told` is all that it printed. */
async function importModel(hub: HubServer, name: string, more: Record<string, string> = {}) {
  const folder = temporaryFolder("hub-import");
  const { python } = await ensureEnvironment("default");
  const hf = more["HF_HOME"] ?? join(folder, "hf");
  const worker = spawnWorker({
    python,
    args: ["-m", "pare_backends.worker", "--supervised"],
    cwd: PYTHON_ROOT,
    env: workerVariables(1, {
      HF_ENDPOINT: hub.endpoint,
      HF_HOME: hf,
      HF_HUB_CACHE: join(hf, "hub"),
      HF_TOKEN_PATH: join(hf, "token"),
      HF_HUB_OFFLINE: "0",
      HF_TOKEN: "",
      ...more,
    }),
    log_path: join(folder, "worker.log"),
  });
  const before = hub.requests.length;
  const outcome = await exchange(worker, {
    call: "import_model",
    model_name: name,
    output_dir: join(folder, "unused"),
    trust_remote_code: false,
  }, { request_id: "hub", threads: 1 });
  const asked = hub.requests.slice(before);
  return { outcome, asked, log: readFileSync(join(folder, "worker.log"), "utf8") };
}

/** One sentence that matches, no weights asked for, no token in what was said. */
async function refused(
  hub: HubServer,
  name: string,
  expected: RegExp,
  more: Record<string, string> = {},
) {
  const { outcome, asked, log } = await importModel(hub, name, more);
  assert.ok(!outcome.ok, `${name} was taken`);
  const { kind, message, hint } = outcome.failure;
  const said = `${message}. ${hint}`;
  assert.match(said, expected);
  assert.notEqual(kind, "crash", said);
  assert.doesNotMatch(said, /\n|Traceback/);
  const weights = asked.filter((line) => line.includes("safetensors"));
  assert.deepEqual(weights, [], `weights were asked for before: ${said}`);
  for (const text of [said, log]) assert.ok(!text.includes("hf_"), `a token is told: ${text}`);
}

Deno.test("a model of the hub that cannot be had is refused in one sentence", async (t) => {
  await shareDefaultEnvironment();
  const files = await tinyFiles();
  const hub = startHub({
    "forest/tiny-words": { files },
    "forest/gated": { files, gated_for: [TOKEN] },
    "forest/huge": { files, claimed_parameters: 7e12, claimed_bytes: 4000 },
    "forest/wide": { files, claimed_bytes: 9e17 },
    "forest/own-code": {
      files: withConfig(files, { architectures: ["OwnLM"], auto_map: { AutoModel: "m.X" } }),
    },
    "forest/pickled": {
      files: { "config.json": files["config.json"]!, "x.bin": new Uint8Array(9) },
    },
    "forest/blocks": {
      files: { "tiny-Q8_0.gguf": new Uint8Array(9), "tiny-Q4_0.gguf": new Uint8Array(9) },
    },
  });
  try {
    await t.step(
      "gated, and nobody said who asks",
      () => refused(hub, "forest/gated", /gate it and HF_TOKEN is not set\. Accept/),
    );
    await t.step(
      "gated, and the token is of an account without access",
      () => refused(hub, "forest/gated", /HF_TOKEN has no access to it/, { HF_TOKEN: OTHERS }),
    );
    await t.step(
      "too large for the memory: gigabytes needed and found",
      () =>
        refused(
          hub,
          "forest/huge",
          /"forest\/huge": it needs 28000\.6 GB of memory.*found \d+\.\d GB/,
        ),
    );
    await t.step(
      "too large for the disk",
      () => refused(hub, "forest/wide", /needs 900000000\.0 GB of disk, found \d+\.\d GB/),
    );
    await t.step("a GGUF file that the repository has not, and what it has", async () => {
      await refused(hub, "forest/blocks:Q5_K_M", /the repository has Q4_0, Q8_0/);
      await refused(hub, "forest/blocks", /it has GGUF files only/);
    });
    await t.step("a GGUF file by its kind is fetched, it alone, and read", async () => {
      const before = hub.requests.length;
      await refused(hub, "forest/blocks:q8_0", /Cannot read tiny-Q8_0\.gguf/);
      const asked = hub.requests.slice(before).filter((line) => line.includes(".gguf"));
      assert.ok(asked.length > 0 && asked.every((line) => line.includes("tiny-Q8_0.gguf")));
    });
    await t.step(
      "a name that is nearly one of the hub's",
      () =>
        refused(
          hub,
          "forest/tiny-wrods",
          /Unknown model "forest\/tiny-wrods"\. Did you mean "forest\/tiny-words"\?/,
        ),
    );
    await t.step(
      "a name that is none",
      () =>
        refused(hub, "nobody/nothing", /Unknown model "nobody\/nothing"\. No file or directory/),
    );
    await t.step(
      "a name that no hub takes",
      () => refused(hub, "a--b/c", /Unknown model "a--b\/c": .*no name of the hub/),
    );
    await t.step(
      "its own code, before anything but its config is fetched",
      () =>
        refused(
          hub,
          "forest/own-code",
          /forest\/own-code: it carries its own Python code.*--trust-remote-code/,
        ),
    );
    await t.step("pickled weights", () => refused(hub, "forest/pickled", /no safetensors files/));
    await t.step("a hub that is out of order", async () => {
      hub.status = 503;
      await refused(hub, "forest/tiny-words", /the hub cannot be reached \(.*503/);
      hub.status = null;
    });
    await t.step(
      "no hub at all",
      () =>
        refused(hub, "forest/tiny-words", /the hub cannot be reached \(.*refused/i, {
          HF_ENDPOINT: "http://127.0.0.1:9",
        }),
    );
  } finally {
    await hub.close();
  }
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

Deno.test("a model of the hub is fetched once, and its commit is kept", async (t) => {
  await shareDefaultEnvironment();
  const files = await tinyFiles();
  const broken = { files, breaks_after: 1000 };
  const hub = startHub({ "forest/gated": { files, gated_for: [TOKEN] }, "forest/broken": broken });
  const home = temporaryFolder("hub-home");
  const cache = temporaryFolder("hub-cache");
  const more = { HF_HOME: cache, HF_HUB_CACHE: join(cache, "hub"), HF_TOKEN: TOKEN };
  const before = { ...process.env };
  try {
    await t.step("a study's facts name the commit, and its home never the token", async () => {
      for (const variable of OWN) delete process.env[variable];
      Object.assign(process.env, { HF_ENDPOINT: hub.endpoint, PARE_HOME: home, ...more });
      const seen: string[] = [];
      const fetched: number[] = [];
      await using lab = await openLab({
        store: join(home, "store"),
        onEvent: (event) => {
          if (event.event === "progress" && event.label === "fetch forest/gated") {
            fetched.push(event.done);
          }
        },
      });
      const { facts, request } = await lab.open({
        model_name: "forest/gated",
        dataset: "tiny",
        runtime: "transformers",
      });
      assert.equal(facts.model.revision, hub.commit);
      assert.equal(facts.model.source, "hub");
      assert.equal(request.model_name, "forest/gated");
      assert.equal(facts.model.fp16_bytes, 2 * facts.model.parameters);
      assert.ok(fetched.length > 0, "a download shows how far it is");
      for (const path of filesBelow(home)) {
        seen.push(path);
        assert.ok(!readFileSync(path).includes(TOKEN), `the token stands in ${path}`);
      }
      assert.ok(seen.length > 0);
    });
    await t.step(
      "the second time nothing is asked for, not even by a hub that is gone",
      async () => {
        const again = await importModel(hub, "forest/gated", { ...more, HF_TOKEN: "" });
        assert.ok(again.outcome.ok, JSON.stringify(again.outcome));
        assert.equal(again.outcome.value.revision, hub.commit);
        assert.deepEqual(again.asked, []);
        const gone = { ...more, HF_ENDPOINT: "http://127.0.0.1:9" };
        assert.ok((await importModel(hub, "forest/gated", gone)).outcome.ok);
      },
    );
    await t.step("weights that break off are no model: asked for again, then told", async () => {
      for (const attempt of [1, 2]) {
        const { outcome, asked } = await importModel(hub, "forest/broken", more);
        assert.ok(!outcome.ok, `attempt ${attempt}`);
        assert.match(outcome.failure.message, /the hub cannot be reached/);
        assert.ok(asked.some((line) => line.endsWith("model.safetensors")), `attempt ${attempt}`);
      }
    });
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
    await hub.close();
  }
});
