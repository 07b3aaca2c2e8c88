import { execa } from "execa";
import assert from "node:assert/strict";
import { userInfo } from "node:os";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { readCounts } from "../../python-backends/checks.ts";
import { doctor, isOlder } from "../../python-backends/doctor.ts";
import { PLATFORM } from "../../python-backends/environments/npm_libraries.ts";
import {
  environmentNames,
  readPins,
  usualEnvironments,
} from "../../python-backends/environments/environment_pins.ts";
import {
  ensureEnvironment,
  environmentDirectory,
  findEnvironment,
  makingLock,
  readyFacts,
  usedHash,
} from "../../python-backends/environments/environments.ts";
import { withFileLock } from "../../python-backends/file_lock.ts";
import { pareHome } from "../../python-backends/home.ts";
import { findHome } from "../../tracker/ground/home.ts";
import { lastWords } from "../../python-backends/environments/pip.ts";
import { findPython, noPythonSentence } from "../../python-backends/environments/python.ts";
import { isCpuBuild, readWheelReport } from "../../python-backends/environments/torch_wheel.ts";
import { plainPython, until, withVariables } from "./scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

/** A third party's environment that needs no network: no package at all. */
function ownPins(imports: string[], base: string | null = null): string {
  const directory = temporaryFolder("pins");
  writeFileSync(join(directory, "requirements.txt"), "# nothing\n");
  const document = { summary: "empty", base, imports, bytes: 1e6 };
  writeFileSync(join(directory, "environment.json"), JSON.stringify(document));
  return directory;
}

async function rejection(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    assert(error instanceof Error);
    assert.equal(error.name, "UsageError", String(error));
    return error.message;
  }
  throw new Error("it was to be refused");
}

Deno.test("ensureEnvironment() makes an environment once, also when two ask at once", async () => {
  const home = temporaryFolder("home");
  const pins_directory = ownPins(["json"]);
  const lines: string[] = [];
  const ask = () =>
    ensureEnvironment("own", { home, pins_directory, onProgress: ({ line }) => lines.push(line) });
  const { python } = await findPython();
  const pins = readPins("own", pins_directory);
  const lock = `${environmentDirectory(pins, { home, minor: python!.minor, gpu: false })}.lock`;
  const both = await withFileLock(lock, {}, async () => {
    const asked = Promise.all([ask(), ask()]);
    await until("both wait", () => lines.length === 2);
    return { asked }; // a bare promise would be awaited with the lock held
  });
  assert(lines.every((line) => line.startsWith("another process")));
  const [first, second] = await both.asked;
  assert.deepEqual(first, second);
  assert(existsSync(first.python));
  assert.equal(lines.filter((line) => line.startsWith("making a virtual")).length, 1);
  const ready = readyFacts(first.directory!);
  assert.equal(ready.name, "own");
  lines.length = 0;
  await ask();
  assert.deepEqual(lines, [], "the third time nothing is made");
  rmSync(first.python);
  await ask();
  assert(existsSync(first.python), "one whose Python has gone is made anew");
  Deno.writeTextFileSync(join(first.directory!, ".ready"), "");
  await ask();
  assert.equal(readyFacts(first.directory!).name, "own", "one that a power cut left is made anew");
});

Deno.test("environments are made beside each other, each by one maker", async () => {
  const home = temporaryFolder("home");
  const lock = (name: string) => {
    const { path, ...options } = makingLock(join(home, "envs", name));
    mkdirSync(options.guard, { recursive: true });
    return <T>(work: () => Promise<T>) => withFileLock(path, options, work);
  };
  let inside = 0;
  const alone = async () => {
    assert.equal(inside++, 0, "two makers of one environment");
    await new Promise((resolve) => setTimeout(resolve, 300));
    inside--;
  };
  await lock("compiled-1")(async () => {
    let made = false;
    const small = lock("small-1")(() => Promise.resolve(made = true));
    await until("the small one is made beside it", () => made);
    await small;
  });
  const first = lock("own-1")(alone);
  await until("it is being made", () => inside === 1);
  rmSync(makingLock(join(home, "envs", "own-1")).path);
  await Promise.all([first, lock("own-1")(alone)]);
});

Deno.test("pip's options and ready-made libraries count in an environment's hash", () => {
  const directory = ownPins(["json"]);
  const plain = readPins("own", directory);
  assert.deepEqual([plain.pip, plain.libraries], [[], null]);
  const path = join(directory, "environment.json");
  const document = JSON.parse(readFileSync(path, "utf8"));
  const hashOf = (more: object) => {
    writeFileSync(path, JSON.stringify({ ...document, ...more }));
    return readPins("own", directory).hash;
  };
  assert.notEqual(hashOf({ pip: ["--no-index"] }), plain.hash);
  const libraries = { from: { [PLATFORM]: "@pare/none/lib" }, into: "own/lib" };
  writeFileSync(join(directory, "deno.lock"), "{}");
  const locked = hashOf({ libraries });
  writeFileSync(join(directory, "deno.lock"), '{"version":"5"}');
  assert.equal(new Set([plain.hash, locked, hashOf({ libraries })]).size, 3);
  assert.throws(
    () => hashOf({ libraries: { from: "lib" } }),
    /libraries \(from: folders by machine/,
  );
});

Deno.test("libraries that cannot be fetched, or are there for other machines, leave no environment", async () => {
  const home = temporaryFolder("home");
  const pins_directory = ownPins(["json"]);
  const path = join(pins_directory, "environment.json");
  const document = JSON.parse(readFileSync(path, "utf8"));
  const made = async (libraries: object) => {
    writeFileSync(path, JSON.stringify({ ...document, libraries }));
    await ensureEnvironment("own", { home, pins_directory });
  };
  // A lock without the package: nothing is taken that has no hash.
  writeFileSync(join(pins_directory, "deno.lock"), '{"version":"5"}');
  const missing = { dependencies: { "@node-llama-cpp/linux-x64": "3.22.1" } };
  writeFileSync(join(pins_directory, "package.json"), JSON.stringify(missing));
  await assert.rejects(
    made({ from: { [PLATFORM]: "lib" }, into: "own" }),
    /^UsageError: Cannot fetch the libraries of the environment own: /,
  );
  await assert.rejects(
    made({ from: { "vax-32": "lib" }, into: "own" }),
    /its libraries are there for vax-32; PARE_ENV_OWN takes an interpreter/,
  );
  assert.deepEqual(readdirSync(join(home, "envs")).filter((name) => !name.endsWith(".lock")), []);
});

Deno.test("an environment on another one has its own packages first, then all of the base's", async () => {
  const home = temporaryFolder("home");
  const python = await plainPython();
  const pins_directory = ownPins(["json"], "checks");
  await withVariables({ PARE_ENV_CHECKS: python }, async () => {
    const lines: string[] = [];
    const onProgress = ({ line }: { line: string }) => lines.push(line);
    const own = await ensureEnvironment("own", { home, pins_directory, onProgress });
    assert.match(lines[0]!, /on the environment checks$/);
    const ask = async (interpreter: string, code: string) =>
      (await execa(interpreter, ["-I", "-c", code])).stdout;
    const folders = "import sys; print([p for p in sys.path if p.endswith('-packages')])";
    const [base, built] = [await ask(python, folders), await ask(own.python, folders)];
    const [first, ...rest] = JSON.parse(built.replaceAll("'", '"'));
    assert(first.startsWith(own.directory), built);
    assert.deepEqual(rest, JSON.parse(base.replaceAll("'", '"')), "of the base, in its order");
    assert.equal(readyFacts(own.directory!).base, python);
    lines.length = 0;
    assert.deepEqual(await ensureEnvironment("own", { home, pins_directory, onProgress }), own);
    assert.deepEqual(lines, [], "found again by its pins and its base");
    assert.deepEqual(await findEnvironment("own", home, pins_directory), own);
    const link = join(temporaryFolder("links"), "bin");
    symlinkSync(dirname(python), link);
    const at = (PARE_ENV_CHECKS: string) =>
      withVariables({ PARE_ENV_CHECKS }, () => findEnvironment("own", home, pins_directory));
    assert.deepEqual(await at(join(link, basename(python))), own, "its base, by a link");
    const other = join(temporaryFolder("others"), basename(python));
    symlinkSync(python, other);
    assert.equal(await at(other), null, "a base elsewhere");
  });
  const alone = readPins("own", ownPins(["json"])).hash;
  const hashes = [
    alone,
    ...["checks", "default"].map((on) => readPins("own", ownPins([], on)).hash),
  ];
  assert.equal(new Set(hashes).size, 3, "a hash is also of what it is built on");
});

Deno.test("usedHash() is of the pins that a named interpreter was made of, or says that none are known", async () => {
  const home = temporaryFolder("home");
  const pins_directory = ownPins(["json"]);
  const { hash, python } = await ensureEnvironment("own", { home, pins_directory });
  assert.equal(usedHash("own", pins_directory), hash);
  await withVariables({ PARE_ENV_MLFLOW: python }, () => {
    assert.equal(usedHash("mlflow"), hash);
    return Promise.resolve();
  });
  await withVariables({ PARE_ENV_MLFLOW: await plainPython() }, () => {
    assert.equal(usedHash("mlflow"), "override");
    return Promise.resolve();
  });
});

Deno.test("ensureEnvironment() removes a half-built environment and makes it anew", async () => {
  const home = temporaryFolder("home");
  const pins_directory = ownPins(["json"]);
  const { python } = await findPython();
  const directory = environmentDirectory(readPins("own", pins_directory), {
    home,
    minor: python!.minor,
    gpu: false,
  });
  mkdirSync(join(directory, "bin"), { recursive: true });
  writeFileSync(join(directory, "bin", "python"), "half");
  writeFileSync(join(directory, "left over"), "");
  const environment = await ensureEnvironment("own", { home, pins_directory });
  assert.equal(environment.directory, directory);
  assert(!existsSync(join(directory, "left over")));
});

Deno.test("ensureEnvironment() keeps nothing of an environment that does not import", async () => {
  const home = temporaryFolder("home");
  const pins_directory = ownPins(["no_such_module_here"]);
  const message = await rejection(ensureEnvironment("own", { home, pins_directory }));
  assert.match(message, /Cannot use the Python environment own.*no_such_module_here/);
  const pins = readPins("own", pins_directory);
  const { python } = await findPython();
  const directory = environmentDirectory(pins, { home, minor: python!.minor, gpu: false });
  assert(!existsSync(directory));
});

Deno.test("ensureEnvironment() asks for the disk before it makes anything", async () => {
  const pins_directory = ownPins([]);
  const document = { summary: "vast", torch: null, imports: [], forbidden: [], bytes: 1e18 };
  writeFileSync(join(pins_directory, "environment.json"), JSON.stringify(document));
  const home = temporaryFolder("home");
  const message = await rejection(ensureEnvironment("own", { home, pins_directory }));
  assert.match(message, /needs about 1000000000\.0 GB of disk, .* GB are free.*PARE_HOME/);
});

Deno.test("ensureEnvironment() takes the interpreter that PARE_ENV_<NAME> names", async () => {
  await withVariables({ PARE_ENV_DEFAULT: Deno.execPath() }, async () => {
    assert.equal((await ensureEnvironment("default")).python, Deno.execPath());
  });
  await withVariables({ PARE_ENV_DEFAULT: "/no/such/python" }, async () => {
    assert.match(await rejection(ensureEnvironment("default")), /PARE_ENV_DEFAULT.*\/no\/such/);
  });
});

Deno.test("ensureEnvironment() says which Python it found when that is too old", async () => {
  const folder = temporaryFolder("python");
  const old = join(folder, "python3");
  writeFileSync(old, `#!/bin/sh\nprintf '3 9 18\\n${old}\\nvenv\\n'\n`);
  chmodSync(old, 0o755);
  await withVariables({ PARE_PYTHON: old }, async () => {
    const pins_directory = ownPins([]);
    const home = temporaryFolder("home");
    const message = await rejection(ensureEnvironment("own", { home, pins_directory }));
    assert.match(message, /needs Python 3\.11 or newer.*python3 is 3\.9\.18.*apt install/);
  });
  const { python, tried } = await findPython(["no-such-python", old]);
  assert.equal(python, null);
  assert.deepEqual(tried.map(({ found }) => found), ["not found", "3.9.18"]);
  assert.match(noPythonSentence([{ command: "python3", found: "not found" }]), /none of python3/);
});

Deno.test("every environment that ships has exact pins and no torchvision", () => {
  assert.deepEqual(environmentNames(), [
    ...["checks", "default", "ik_llama_cpp", "kvpress", "llama_cpp", "mlflow", "notebook"],
    ...["openvino_export", "openvino_genai", "optuna", "ray", "readers_duckdb1"],
    ...["readers_duckdb2", "serve", "vllm"],
  ]);
  const rare = environmentNames().filter((name) => !usualEnvironments().includes(name));
  assert.deepEqual(rare, [
    ...["ik_llama_cpp", "kvpress", "notebook", "openvino_genai", "optuna", "ray", "vllm"],
  ]);
  for (const name of environmentNames()) {
    const pins = readPins(name);
    assert.match(pins.hash, /^[0-9a-f]{12}$/);
    const text = pins.packages.join("\n");
    assert.doesNotMatch(text, /^torch==/m, "torch is installed first");
    // Elsewhere than on a GPU pip would bring builds that do not fit torch's.
    if (!pins.gpu) assert.doesNotMatch(text, /^(torchvision|torchaudio)==/m);
  }
  assert(readPins("openvino_export").forbidden.includes("torchvision"));
});

Deno.test("readPins() refuses a requirement that is no exact pin", () => {
  const directory = ownPins([]);
  writeFileSync(join(directory, "requirements.txt"), "numpy==2.4.6\nscipy>=1.0\n");
  assert.throws(() => readPins("own", directory), /"scipy>=1\.0" is no exact pin/);
});

Deno.test("isCpuBuild() knows a torch wheel without CUDA", () => {
  const requires_dist = ["filelock", 'nvidia-cublas==13.1; platform_system == "Linux"'];
  assert.equal(isCpuBuild({ version: "2.13.0+cpu", requires_dist }), true);
  assert.equal(isCpuBuild({ version: "2.13.0", requires_dist }), false);
  assert.equal(isCpuBuild({ version: "2.13.0+cu130", requires_dist: [] }), false);
  assert.equal(isCpuBuild({ version: "2.13.0", requires_dist: ["filelock"] }), true);
  const metadata = { version: "2.13.0+cpu", requires_dist: ["filelock"] };
  const report = `Looking around\n${JSON.stringify({ install: [{ metadata }] })}`;
  assert.deepEqual(readWheelReport(report), metadata);
  assert.equal(readWheelReport('{"install": []}'), null);
});

Deno.test("lastWords() keeps pip's errors and drops its warnings", () => {
  const output = "Collecting x\nWARNING: a mirror\nERROR: No matching distribution for x==9\n";
  assert.equal(lastWords(output), "ERROR: No matching distribution for x==9");
  assert.equal(lastWords(""), "pip said nothing");
});

Deno.test("withFileLock() lets one in at a time and can be cancelled while it waits", async () => {
  const path = join(temporaryFolder("lock"), "lock");
  const order: string[] = [];
  const freed = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const first = withFileLock(path, {}, async () => {
    order.push("first");
    entered.resolve();
    await freed.promise;
    order.push("first done");
  });
  await entered.promise;
  let second = Promise.resolve();
  await new Promise<void>((resolve) => {
    second = withFileLock(path, { onWait: resolve }, () => {
      order.push("second");
      return Promise.resolve();
    });
  });
  const cancelled = withFileLock(path, { signal: AbortSignal.abort() }, () => {
    order.push("third");
    return Promise.resolve();
  });
  await assert.rejects(cancelled);
  freed.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first", "first done", "second"]);
});

Deno.test("doctor() looks at everything and says how to mend what is missing", async () => {
  const home = temporaryFolder("home");
  const checks = await doctor(home);
  const names = checks.map(({ name }) => name);
  for (const name of ["deno", "python", "environment default", "demo model", "disk", "memory"]) {
    assert(names.includes(name), name);
  }
  const demo = checks.find(({ name }) => name === "demo model")!;
  assert.equal(demo.ok, false);
  assert.match(demo.fix ?? "", /npx -y deno task demo/);
  const sandbox = checks.find(({ name }) => name === "sandbox")!;
  assert.match(sandbox.found, sandbox.ok ? /a program ran in bubblewrap/ : /bubblewrap|filter/);
  assert.equal(isOlder([2, 9, 5], [2, 9, 6]), true);
  assert.equal(isOlder([2, 10, 0], [2, 9, 6]), false);
  assert.equal(isOlder([3], [2, 9, 6]), false);
});

Deno.test("pareHome() follows PARE_HOME, then the user's cache", () => {
  assert.equal(pareHome({ PARE_HOME: "/p", XDG_CACHE_HOME: "/x" }), "/p");
  assert.equal(pareHome({ XDG_CACHE_HOME: "/x" }), "/x/pare");
  const own = join(userInfo().homedir, ".cache", "pare");
  // What a shell sets to nothing, or a job leaves out, never makes a home of the folder that one stands in.
  const nothing = { PARE_HOME: "", XDG_CACHE_HOME: "", HOME: "" };
  for (const said of [{}, nothing, { HOME: "here", XDG_CACHE_HOME: "there" }]) {
    assert.equal(pareHome(said), own);
    assert.equal(findHome(said).root, own);
  }
  assert.equal(pareHome({ HOME: "/h" }), "/h/.cache/pare");
});

Deno.test("readCounts() reads pytest's closing line, errors included", () => {
  const counts = readCounts(
    "5 passed in a test's own words\n2 failed, 31 passed, 1 error in 2.3s\n",
  );
  assert.deepEqual(counts, { passed: 31, failed: 3 });
  assert.deepEqual(readCounts("===== 7 passed in 0.12s =====\n"), { passed: 7, failed: 0 });
  assert.deepEqual(readCounts(""), { passed: 0, failed: 0 });
});
