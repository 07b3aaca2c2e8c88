/** `pare plan` as a person calls it: a folder, a file, a name of a hub on the loopback, and what is refused. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { main } from "../../../tracker/cli.ts";
import type { LoadMeasured } from "../../../core/serving/load/schema.ts";
import { JSON_SHAPES } from "../../../tracker/show/json/json_shapes.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { configOf } from "../../core/serving/plan/published.ts";

const QWEN = "Qwen/Qwen3-32B";

/** What a command line prints, with variables of the environment set meanwhile. */
async function pare(words: readonly string[], env: Record<string, string> = {}) {
  const { log, error } = console;
  const [out, told]: [string[], string[]] = [[], []];
  const before = Object.keys(env).map((name) => [name, Deno.env.get(name)] as const);
  console.log = (...parts: unknown[]) => void out.push(parts.join(" "));
  console.error = (...parts: unknown[]) => void told.push(parts.join(" "));
  try {
    for (const [name, value] of Object.entries(env)) Deno.env.set(name, value);
    return { code: await main(["plan", ...words]), out: out.join("\n"), told: told.join("\n") };
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
    Object.assign(console, { log, error });
  }
}

async function folderOf(config: unknown, more: Record<string, string | Uint8Array> = {}) {
  const folder = await Deno.makeTempDir();
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  for (const [name, content] of Object.entries(more)) await writeFile(join(folder, name), content);
  return folder;
}

/** A safetensors file of so many bytes of tensors, all but its header a hole. */
async function weightFile(path: string, bytes: number) {
  const header = new TextEncoder().encode(
    `{"w":{"dtype":"U8","shape":[${bytes}],"data_offsets":[0,${bytes}]}}`,
  );
  const head = new Uint8Array(8 + header.length);
  new DataView(head.buffer).setBigUint64(0, BigInt(header.length), true);
  head.set(header, 8);
  await writeFile(path, head);
  await Deno.truncate(path, head.length + bytes);
}

Deno.test("pare plan FOLDER prints weights, cache, cards and commands, and JSON of its shape", async () => {
  const folder = await folderOf(configOf(QWEN));
  const shown = await pare([folder, "--gpus", "2xH100-80", "--server", "vllm"]);
  assert.equal(shown.code, 0, shown.told);
  assert.match(shown.out, /262,144 bytes a token/);
  assert.match(shown.out, new RegExp(`vllm serve ${folder} `));
  const json = await pare([folder, "--gpus", "2xH100-80", "--context", "32k", "--json"]);
  const { kind, data } = JSON.parse(json.out);
  assert.equal(kind, "plan");
  const found = JSON_SHAPES.plan.parse(data);
  assert.equal(found.asked.context, 32_768);
  const { container } = found.plans[0]!.servers.vllm!;
  assert.ok(container.args.includes(`${folder}:/model:ro`));
  await Deno.remove(folder, { recursive: true });
});

Deno.test("weights that are here are counted by their files' headers, and never read", async () => {
  const folder = await folderOf(configOf(QWEN));
  await weightFile(join(folder, "model.safetensors"), 20e9); // a hole: nothing is on the disk
  const { out } = await pare([folder, "--gpus", "H100-80"]);
  assert.match(out, /18\.6 GiB of weights \(by its files\)/);
  await writeFile(join(folder, "model.safetensors"), "x".repeat(100));
  const cut = await pare([folder, "--gpus", "H100-80"]);
  assert.match(cut.told, /is no safetensors file, or it is cut off/);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a quantization that lies beside the config counts", async () => {
  const modelopt = { producer: { name: "modelopt" }, quantization: { quant_algo: "NVFP4" } };
  const folder = await folderOf(configOf(QWEN), {
    "hf_quant_config.json": JSON.stringify(modelopt),
  });
  const { out } = await pare([folder, "--gpus", "B200", "--server", "vllm"]);
  assert.match(out, /--quantization modelopt_fp4/);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("an artifact of pare's is planned by its files, and its own form is said", async () => {
  const home = await Deno.makeTempDir();
  const folder = join(home, "artifacts", "0a1b2c3d");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "config.json"), JSON.stringify(configOf(QWEN)));
  await writeFile(join(folder, "manifest.json"), "{}");
  await weightFile(join(folder, "model.safetensors"), 20e9);
  const { code, out, told } = await pare(["0a1b2c3d", "--gpus", "RTX5090"], { PARE_HOME: home });
  assert.equal(code, 0, told);
  assert.match(out, /18\.6 GiB of weights \(by its files\)/);
  assert.match(out, /note: It is an artifact of pare's/);
  await Deno.remove(home, { recursive: true });
});

Deno.test("--table and --figure show memory against context, and what a card holds", async () => {
  const folder = await folderOf(configOf(QWEN));
  const file = join(folder, "plan.svg");
  const { out } = await pare([folder, "--gpus", "2xH100-80", "--table", "--figure", file]);
  assert.match(out, /^context +1 × H100-80, TP 1 +2 × H100-80, TP 2/);
  assert.match(await readFile(file, "utf8"), /^<svg /);
  await Deno.remove(folder, { recursive: true });
});

/** A load of so many requests at a time, at so many tokens a second. */
function loadOf(study_id: string, step: number, level: number, speed: number): LoadMeasured {
  const none = { mean: null, p50: null, p90: null, p95: null, p99: null };
  return {
    ...{ type: "load_measured", at: "2026-03-01T12:00:00.000Z", study_id, step, level },
    ...{ server: "http://127.0.0.1:8000", model: "m", against: false, load: "concurrency" },
    ...{ asked_prompt_tokens: 512, asked_output_tokens: 128, requests: [] },
    ...{ first_token_limit_ms: null, between_tokens_limit_ms: null },
    ...{ client_requests_per_second: 1e4, client_tokens_per_second: 1e6 },
    summary: {
      ...{ requests: 10, failed: 0, seconds: 10, requests_per_second: 1, goodput: null },
      ...{ first_token: none, between_tokens: none, latency: none, late_p95_ms: 0 },
      output_tokens_per_second: speed,
    },
  };
}

Deno.test("--measured corrects speeds by a load of the store, and says which", async () => {
  const folder = await folderOf(configOf(QWEN));
  const at = join(folder, "store");
  {
    await using store = await openStore(at, { write: true });
    await store.record(loadOf("load-1", 0, 1, 20));
    await store.record(loadOf("load-1", 1, 4, 78));
  }
  const words = [folder, "--gpus", "2xH100-80", "--store", at, "--json"];
  const speedsOf = ({ out, told }: { out: string; told: string }) => {
    assert.equal(told, "");
    return JSON_SHAPES.plan.parse(JSON.parse(out).data).plans.map(({ speed }) => speed!);
  };
  const before = speedsOf(await pare(words));
  const after = speedsOf(await pare([...words, "--measured", "load-1"]));
  assert.equal(after[1]!.source, "corrected by 2 steps of load-1");
  assert.equal(after[1]!.error, .1);
  const { factor } = after[1]!;
  assert.ok(factor > .25 && factor < .45, `${factor}: 20 tokens a second are a third of the bound`);
  const ratio = after[0]!.decode_tokens_per_second / before[0]!.decode_tokens_per_second;
  assert.ok(
    Math.abs(ratio * before[0]!.factor / factor - 1) < 1e-9,
    "the plan of one card is corrected, too",
  );
  const none = await pare([...words, "--measured", "load-2"]);
  assert.match(none.told, /Unknown load "load-2"\. Did you mean "load-1"/);
  await Deno.remove(folder, { recursive: true });
});

/** A hub that has the config of one model, and counts what is asked of it. */
function hub(answers: Readonly<Record<string, unknown>>) {
  const asked: { path: string; token: string | null }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const path = new URL(request.url).pathname;
    asked.push({ path, token: request.headers.get("authorization") });
    const found = answers[path];
    if (typeof found === "number") return new Response("", { status: found });
    return found === undefined
      ? new Response("", { status: 404 })
      : new Response(JSON.stringify(found));
  });
  return { asked, server, address: `http://127.0.0.1:${server.addr.port}` };
}

const ONLINE = { PARE_OFFLINE: "", HF_HUB_OFFLINE: "", TRANSFORMERS_OFFLINE: "" };

Deno.test("of a name of the hub the config alone is fetched, and the cache comes first", async () => {
  const { asked, server, address } = hub({
    "/Qwen/Qwen3-32B/resolve/main/config.json": configOf(QWEN),
    "/meta-llama/Gated/resolve/main/config.json": 403,
  });
  const home = await Deno.makeTempDir();
  const env = { ...ONLINE, HF_ENDPOINT: address, HF_HOME: home, HF_TOKEN: "hf_secret" };
  const words = ["--gpus", "2xH100-80"];
  const first = await pare([QWEN, ...words], env);
  assert.equal(first.code, 0, first.told);
  assert.match(first.out, /vllm serve Qwen\/Qwen3-32B/);
  assert.doesNotMatch(first.out, /hf_secret/);
  assert.deepEqual(asked.map(({ path }) => path), ["/Qwen/Qwen3-32B/resolve/main/config.json"]);
  assert.equal(asked[0]!.token, "Bearer hf_secret");
  const gated = await pare(["meta-llama/Gated", ...words], env);
  assert.equal(gated.code, 2);
  assert.match(gated.told, /gated or does not exist, and HF_TOKEN has no access to it/);
  assert.doesNotMatch(gated.told, /hf_secret/);
  const none = await pare(["Qwen/Quokka", ...words], env);
  assert.match(none.told, /Unknown model "Qwen\/Quokka"/);
  const snapshot = join(home, "hub", "models--Qwen--Qwen3-32B", "snapshots", "0123abcd");
  await mkdir(join(home, "hub", "models--Qwen--Qwen3-32B", "refs"), { recursive: true });
  await mkdir(snapshot, { recursive: true });
  await writeFile(join(home, "hub", "models--Qwen--Qwen3-32B", "refs", "main"), "0123abcd");
  await writeFile(join(snapshot, "config.json"), JSON.stringify(configOf(QWEN)));
  const before = asked.length;
  assert.equal((await pare([QWEN, ...words], { ...env, PARE_OFFLINE: "1" })).code, 0);
  assert.equal(asked.length, before, "the cache answers");
  await server.shutdown();
  await Deno.remove(home, { recursive: true });
});

Deno.test("what cannot be planned is refused in a sentence, exit code 2", async () => {
  const folder = await folderOf(configOf(QWEN));
  const refuse = async (words: readonly string[], why: RegExp, env = {}) => {
    const { code, told } = await pare(words, env);
    assert.equal(code, 2, told);
    assert.match(told, why);
  };
  await refuse([folder, "--gpus", "8xH10O-80"], /Unknown card "H10O-80"\. Did you mean "H100-80"/);
  await refuse(
    [folder, "--gpus", "H100", "--server", "vlm"],
    /Unknown server "vlm"\. Did you mean "vllm"/,
  );
  await refuse([folder, "--gpus", "H100", "--context", "long"], /Cannot take --context long/);
  await refuse(["Qwen/Qwen3-9B", "--gpus", "H100"], /PARE_OFFLINE keeps the hub out/, {
    ...{ PARE_OFFLINE: "1", HF_HOME: folder },
  });
  await refuse(
    ["nothing-here", "--gpus", "H100", "--store", join(folder, "none")],
    /does not exist/,
  );
  await writeFile(join(folder, "config.json"), "{");
  await refuse([folder, "--gpus", "H100"], /it is no JSON/);
  await Deno.remove(folder, { recursive: true });
});
