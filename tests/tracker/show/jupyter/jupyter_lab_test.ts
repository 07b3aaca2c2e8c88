import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  labVariables,
  labWords,
  writeSettings,
} from "../../../../tracker/show/jupyter/jupyter_lab.ts";
import { kernelSpec, writeKernelSpec } from "../../../../tracker/show/jupyter/kernel_spec.ts";
import { ignoreUnless } from "../../../run/counts.ts";

Deno.test("JupyterLab listens to this machine alone, keeps its token, and takes a user's words last", async () => {
  const words = labWords(["--no-browser"], 1000, "/settings");
  assert.deepEqual(words.slice(0, 3), ["-m", "jupyterlab", "--ServerApp.ip=127.0.0.1"]);
  assert.equal(words.at(-1), "--no-browser");
  assert.ok(words.every((word) => !/token|password|allow-root/.test(word)), words.join(" "));
  const root = words.find((word) => word.startsWith("--ServerApp.root_dir="))!.split("=")[1]!;
  assert.ok((await readdir(root)).includes("01_first_study.ipynb"));
});

Deno.test("JupyterLab runs as root where the user is root, as in a container", () => {
  assert.ok(labWords([], 0, "/settings").includes("--allow-root"));
  assert.ok(!labWords([], null, "/settings").includes("--allow-root"));
});

Deno.test("JupyterLab's page asks nobody about news", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const settings = await writeSettings(folder);
    assert.ok(labWords([], 1000, settings).includes(`--LabApp.app_settings_dir=${settings}`));
    const kept = JSON.parse(await readFile(join(settings, "overrides.json"), "utf8"));
    const page = kept["@jupyterlab/apputils-extension:notification"];
    assert.deepEqual([page.fetchNews, page.checkForUpdates], ["false", false]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("pare's kernels are found before those that JUPYTER_PATH names", () => {
  assert.equal(labVariables("/home/p/jupyter", {})["JUPYTER_PATH"], "/home/p/jupyter");
  const also = labVariables("/home/p/jupyter", { JUPYTER_PATH: "/own" })["JUPYTER_PATH"];
  assert.match(also!, /^\/home\/p\/jupyter[:;]\/own$/);
});

Deno.test("the kernel's spec names this very deno, and is written whole", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Promise.all([writeKernelSpec(folder), writeKernelSpec(folder)]);
    const kernel = join(folder, "kernels", "deno");
    assert.deepEqual(await readdir(kernel), ["kernel.json"]);
    const spec = JSON.parse(await readFile(join(kernel, "kernel.json"), "utf8"));
    assert.deepEqual(spec, kernelSpec());
    assert.ok(spec.argv.includes(Deno.execPath()));
    assert.equal(spec.interrupt_mode, "signal");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("what the spec starts outlives an interrupt until it listens to it", {
  ignore: ignoreUnless(Deno.build.os !== "windows", "Windows has no such signal"),
}, async () => {
  const script = `Deno.kill(Deno.pid, "SIGINT");
    const heard = new Promise((done) => Deno.addSignalListener("SIGINT", () => done("heard")));
    Deno.kill(Deno.pid, "SIGINT");
    console.log(await heard);
    Deno.exit(0);`;
  const [shell, ...words] = kernelSpec().argv;
  const start = words.slice(0, words.indexOf(Deno.execPath()));
  const { code, stdout } = await new Deno.Command(shell!, {
    args: [...start, Deno.execPath(), "eval", script],
  }).output();
  assert.deepEqual([code, new TextDecoder().decode(stdout)], [0, "heard\n"]);
});
