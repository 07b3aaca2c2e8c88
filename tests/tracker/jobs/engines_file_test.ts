/** How engines are named, and what is refused before one is asked. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Attempt, Engine } from "../../../core/jobs/engine.ts";
import { attemptPaths } from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { openEngine } from "../../../tracker/jobs/engines/open_engine.ts";
import { probe } from "../../../tracker/jobs/engines/probe.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

function open(called: string, text?: string): Promise<Engine> {
  const folder = temporaryFolder("engines");
  const file = join(folder, "engines.yaml");
  if (text !== undefined) writeFileSync(file, text);
  return openEngine(called, { file, books: join(folder, "books") });
}

const FILE = `engines:
  big: { kind: slurm, partition: gpu, extra: [--qos=low], machine: a100-80gb, price_per_hour: 12.5, worker: { cpu: 8, gpu: 1 } }
  small: { kind: local, limits: { cpu: 1 }, machine: my-laptop, price_per_hour: 0.2, artifacts: "s3://models/pare" }
`;

Deno.test("an engine is named on the command or in the file, and a slip is told", async () => {
  assert.equal((await open("local")).name, "local");
  assert.equal((await open("slurm:long")).name, "slurm:long");
  const big = await open("big", FILE);
  assert.deepEqual([big.name, big.worker], ["big", { cpu: 8, gpu: 1, memory_gb: null }]);
  const small = await open("small", FILE);
  assert.equal(small.artifacts, "s3://models/pare");
  const { total, machine, price_per_hour } = await small.capacity();
  assert.deepEqual([small.name, total.cpu, machine, price_per_hour], [
    ...["small", 1, "my-laptop", 0.2],
  ]);
  await assert.rejects(open("bigg", FILE), {
    name: "UsageError",
    message:
      'Unknown engine "bigg". Did you mean "big"? Known: big, local, ray://HOST:PORT, slurm:PARTITION, small',
  });
  await assert.rejects(open("smal", FILE), /Did you mean "small"/);
  await assert.rejects(open("sulrm:gpu", FILE), /kind of engine "sulrm"\. Did you mean "slurm"/);
});

Deno.test("a file of engines that is wrong is told by its field", async () => {
  await assert.rejects(open("x", "engines: [1"), /Cannot read the engines of .*engines\.yaml: /);
  for (const text of ["null", "- a", "5"]) {
    await assert.rejects(
      open("x", text),
      /^UsageError: Cannot take the engines of .*: the whole of it: /,
    );
  }
  await assert.rejects(open("x", "engines: { x: { kind: cloud } }"), /engines\.x\.kind/);
  await assert.rejects(
    open("x", "engines: { x: { kind: slurm, partitoin: 1 } }"),
    /Unknown field of x "partitoin"\. Did you mean "partition"\?/,
  );
  await assert.rejects(
    open("x", "engines: { x: { kind: local, artifacts: /shared } }"),
    /engines\.x\.artifacts: write s3:\/\/BUCKET\/PREFIX/,
  );
});

Deno.test("a head of Ray wants its token, by the variable that the file names", async () => {
  const text =
    "engines: { far: { kind: ray, address: 'ray://127.0.0.1:8265', token_variable: PARE_TEST_T } }";
  await assert.rejects(open("far", text), /Cannot use far without a token: set PARE_TEST_T/);
  Deno.env.set("PARE_TEST_T", "x");
  try {
    assert.equal((await open("far", text)).name, "far");
    await assert.rejects(
      open("far", text.replace("127.0.0.1", "10.0.0.1")),
      /over the network to 10\.0\.0\.1/,
    );
  } finally {
    Deno.env.delete("PARE_TEST_T");
  }
});

/** An engine that is said to run what it is given, in its own way. */
function scripted(run: (attempt: Attempt) => void, state: "queued" | "ended" = "ended"): Engine {
  const reason = state === "ended" ? "exit code 76" : null;
  const seen = state === "ended"
    ? { state, how: "exit" as const, code: 76, reason: reason! }
    : { state, reason };
  const done = () => Promise.resolve();
  return {
    name: "scripted",
    submit: (attempt) => {
      mkdirSync(attempt.folder, { recursive: true });
      run(attempt);
      return Promise.resolve(attempt.folder);
    },
    states: (handles) => Promise.resolve(new Map(handles.map((one) => [one, seen]))),
    logs: () => Promise.resolve({ bytes: new Uint8Array(), next: 0, more: false }),
    ...{ save: done, cancel: done },
    capacity: () => Promise.reject(new Error("is not asked")),
    find: () => Promise.resolve([]),
  };
}

Deno.test("a probe sees a clock that is off, a folder that is not shared, and says what it could not see", async () => {
  const root = temporaryFolder("probe");
  const ended = (hours: number) => ({ folder }: Attempt) => {
    const since = new Date(Date.now() + 3_600_000 * hours).toISOString();
    writeFileSync(attemptPaths(folder).lease, JSON.stringify({ since, pid: 1, machine: "there" }));
    const written = { how: "done", code: 0, signal: null, not_started: null, seconds: 0 };
    const result = { id: "probe", attempt: 1, token: "t", ...written };
    writeFileSync(attemptPaths(folder).result, JSON.stringify(result));
  };
  assert.equal(await probe(scripted(ended(0)), root), null);
  await assert.rejects(probe(scripted(ended(1)), root), {
    kind: "refused",
    message:
      "Cannot run jobs on scripted as its clock is 60 minutes ahead of this machine's: set both by " +
      "a time server",
  });
  await assert.rejects(probe(scripted(ended(-1)), root), /60 minutes behind/);
  await assert.rejects(
    probe(scripted(() => {}), root),
    /its machines do not see .*: keep the store/,
  );
  assert.match(
    await probe(scripted(() => {}, "queued"), root, 300) ?? "",
    /had no room .* within 0\.3 s/,
  );
});
