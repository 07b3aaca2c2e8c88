import assert from "node:assert/strict";
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { forgetOldFolders, makeWorkerFolder } from "../../python-backends/worker/worker_folder.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { runScripted, until, withVariables } from "./scripted_worker.ts";

const LEAVES = `import tempfile
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "weights"), "wb") as file:
    file.write(bytes(1 << 20))
`;
const ENDS = {
  "that answers": "return {}",
  "that raises": "raise ValueError()",
  "that leaves at once": "os._exit(3)",
  "that is killed": "os.kill(os.getpid(), signal.SIGKILL)",
  "whose grandchild still writes":
    `subprocess.Popen(["sh", "-c", "while true; do mktemp; done"])\ntime.sleep(0.2)\nreturn {}`,
};

for (const [which, end] of Object.entries(ENDS)) {
  Deno.test(`a worker ${which} leaves no temporary file`, async () => {
    const parent = temporaryFolder("parent");
    await withVariables({ TMPDIR: parent }, () => runScripted(LEAVES + end));
    // Besides the log's folder, which is the test's own.
    const left = () => readdirSync(parent).filter((name) => !name.startsWith("pare-log-"));
    await until("nothing is left", () => left().length === 0);
  });
}

Deno.test("a folder for temporary files that is not there is one sentence, at the first worker", async () => {
  const none = join(temporaryFolder("parent"), "none");
  await withVariables({ TMPDIR: none }, () => {
    forgetOldFolders();
    assert.throws(
      () => makeWorkerFolder(),
      /^UsageError: Cannot make a worker's folder in .*none, .* set TMPDIR to a folder that you may/,
    );
    return Promise.resolve();
  });
});

Deno.test("forgetOldFolders() removes what a killed core's workers left a day ago, only that", async () => {
  const parent = temporaryFolder("parent");
  const ended = new Deno.Command(Deno.execPath(), { args: ["--version"], stdout: "null" }).spawn();
  await ended.status;
  const make = (name: string, days: number) => {
    const at = new Date(Date.now() - days * 86_400_000);
    mkdirSync(join(parent, name));
    writeFileSync(join(parent, name, "file"), "");
    utimesSync(join(parent, name), at, at);
    return name;
  };
  make(`pare-worker-${ended.pid}-old`, 2);
  const kept = [
    make("pare-old", 2),
    make(`pare-worker-${process.pid}-old`, 2),
    make(`pare-worker-${ended.pid}-young`, 0),
  ];
  await withVariables({ TMPDIR: parent }, () => Promise.resolve(forgetOldFolders()));
  assert.deepEqual(readdirSync(parent).sort(), kept.sort());
});
