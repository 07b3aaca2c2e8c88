import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { boundCommand, type ServerCommand } from "../../../core/mod.ts";
import { isAlive, until } from "../../python-backends/scripted_worker.ts";
import { ServerFailed, startServer } from "../../../tracker/serving/serve_model.ts";
import { readLease } from "../../../tracker/jobs/attempt/lease.ts";
import { startScript } from "../../fixtures/programs.ts";
import { type Script, scriptedServer } from "../../fixtures/scripted_server.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const SERVING = import.meta.resolve("../../../tracker/serving/serve_model.ts");

function start(root: string, command: ServerCommand, port: number, wait_seconds = 60) {
  const address = { host: "127.0.0.1", port };
  const { signal } = new AbortController();
  return startServer(root, command, { address, model: "scripted", wait_seconds, signal });
}

function listens(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return false;
  } catch {
    return true;
  }
}

function assertGone({ pids, port }: ReturnType<typeof scriptedServer>): void {
  assert.equal(pids().length, 2, "it ran");
  assert.deepEqual(pids().filter(isAlive), [], "no process of any session is left");
  assert(!listens(port), "the port is free");
}

Deno.test("a server that is stopped leaves no process in any session, and its port", async () => {
  const root = temporaryFolder("serving");
  const scripted = scriptedServer(root, "serves");
  const server = await start(root, scripted.command, scripted.port);
  assert.equal(server.model, "scripted");
  assert(server.first_token_seconds > 0 && server.seconds_to_health > 0);
  assert(scripted.pids().every(isAlive) && listens(scripted.port));
  const end = await server.kept.stop();
  assert(end.asked);
  assertGone(scripted);
});

for (
  const [does, wait, message, lines] of [
    ["never healthy", 2, /^it was not healthy after 2 s$/, /loading the weights/],
    ["dies", 60, /^it ended with status 3$/, /RuntimeError: it broke/],
    ["no token", 60, /^it is healthy and gives no token: 500 /, /loading the weights/],
  ] as [Script, number, RegExp, RegExp][]
) {
  Deno.test(`a server that ${does} is stopped whole, and its last lines are told`, async () => {
    const root = temporaryFolder("serving");
    const scripted = scriptedServer(root, does);
    const failed = await start(root, scripted.command, scripted.port, wait).then(
      () => null,
      (error) => error,
    );
    assert(failed instanceof ServerFailed, String(failed));
    assert.match(failed.message, message);
    assert.match(failed.last_lines, lines);
    assertGone(scripted);
  });
}

Deno.test("another server at the port is not taken for the one that was started", async () => {
  const root = temporaryFolder("serving");
  await using other = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => Response.json({ data: [{ id: "other" }] }),
  );
  const taken = other.addr.port;
  const scripted = scriptedServer(root, "never healthy", taken);
  const failed = await start(root, scripted.command, taken).catch((error) => error);
  assert(failed instanceof ServerFailed, String(failed));
  assert.match(
    failed.message,
    /^another server answers at http:\S+, whose model is other: address/,
  );
  assert.deepEqual(scripted.pids().filter(isAlive), []);
});

Deno.test("a program that is not there is said", async () => {
  const root = temporaryFolder("serving");
  const command = { program: join(root, "no-such-server"), args: [], environment: {} };
  const failed = await start(root, command, 1).catch((error) => error);
  assert(failed instanceof ServerFailed);
  assert.match(failed.message, /no-such-server/);
});

/** A process that starts a server as `pare serve` does, and says when it answers. */
async function holder(root: string, { command, port }: ReturnType<typeof scriptedServer>) {
  const program = await startScript(
    root,
    `import { startServer } from ${JSON.stringify(SERVING)};
const server = await startServer(${JSON.stringify(root)}, ${JSON.stringify(command)}, {
  address: { host: "127.0.0.1", port: ${port} },
  model: "scripted",
  wait_seconds: 60,
  signal: new AbortController().signal,
});
console.log(server.kept.folder);
await new Promise((resolve) => setTimeout(resolve, 600_000));
`,
  );
  const folder = await program.line();
  return { program, folder: folder! };
}

Deno.test("SIGKILL of who serves ends its server, also while that is not healthy yet", async () => {
  const root = temporaryFolder("serving");
  const ready = scriptedServer(root, "serves");
  const { program } = await holder(root, ready);
  assert(ready.pids().every(isAlive));
  await program.kill();
  await until("the served one is gone", () => !ready.pids().some(isAlive));
  assertGone(ready);

  const loading = scriptedServer(root, "never healthy");
  const waiting = holder(root, loading);
  await until("it loads", () => loading.pids().length === 2);
  const [pid] = loading.pids();
  const parent = parentOf(parentOf(pid!)); // the wrapper's: who serves
  Deno.kill(parent, "SIGKILL");
  await waiting;
  await until("the loading one is gone", () => !loading.pids().some(isAlive));
  assertGone(loading);
});

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]);
}

Deno.test("SIGKILL of what holds a server ends the server too", async () => {
  const root = temporaryFolder("serving");
  const scripted = scriptedServer(root, "serves");
  const server = await start(root, scripted.command, scripted.port);
  Deno.kill(readLease(server.kept.folder)!.pid, "SIGKILL");
  const end = await server.kept.ended;
  assert(!end.asked);
  assertGone(scripted);
});

Deno.test("what two kills left is ended by the next server", async () => {
  const root = temporaryFolder("serving");
  const left = scriptedServer(root, "serves");
  const { program, folder } = await holder(root, left);
  const wrapper = readLease(folder)!.pid;
  Deno.kill(wrapper, "SIGSTOP"); // it sees nothing
  await program.kill();
  Deno.kill(wrapper, "SIGKILL");
  await until("both are gone", () => !isAlive(wrapper));
  assert(left.pids().some(isAlive), "nobody has ended it");
  const next = scriptedServer(root, "serves");
  const server = await start(root, next.command, next.port);
  await until("what was left is gone", () => !left.pids().some(isAlive));
  await server.kept.stop();
  assertGone(left);
});

/**
 * A container engine's command: `run` has a daemon start the program, so that no signal and no variable of
 * ours reaches it, and `rm --force` ends it.
 */
const DOCKER = `#!/bin/sh
home=$(dirname "$0")
echo "$@" >> "$home/asked"
if [ "$1" = rm ]; then kill -9 "$(cat "$home/$3")"; rm "$home/$3"; exit 0; fi
while [ "$1" != -- ]; do
  if [ "$1" = --name ]; then name=$2; fi
  shift
done
shift
setsid env -i PATH="$PATH" "$@" < /dev/null > /dev/null 2>&1 &
echo $! > "$home/$name"
wait
`;

for (const how of ["is stopped", "loses who serves it"] as const) {
  Deno.test(`a container goes by its name where the server ${how}`, async () => {
    const root = temporaryFolder("serving");
    const docker = join(root, "docker");
    Deno.writeTextFileSync(docker, DOCKER);
    chmodSync(docker, 0o755);
    const inside = scriptedServer(root, "serves");
    const { program, args } = inside.command;
    const command = { program: docker, args: ["run", "-it", "--", program, ...args] };
    const contained = { ...inside, command: { ...command, environment: {} } };
    if (how === "is stopped") {
      const server = await start(root, contained.command, contained.port);
      await server.kept.stop();
    } else {
      const { program } = await holder(root, contained);
      await program.kill();
    }
    await until("it is gone", () => !isAlive(inside.pids()[0]!));
    await until("it was asked", () => /^rm /m.test(Deno.readTextFileSync(join(root, "asked"))));
    assert.match(
      Deno.readTextFileSync(join(root, "asked")),
      /^run --rm --name (pare-serve-\S+) -- .*[^]*^rm --force \1$/m,
    );
    for (const pid of inside.pids().filter(isAlive)) Deno.kill(pid, "SIGKILL"); // sleep: the engine's own
  });
}

Deno.test("a container that has a name keeps it", () => {
  const given = { program: "/usr/bin/podman", args: ["run", "--name", "mine", "-d", "image"] };
  assert.deepEqual(boundCommand({ ...given, environment: {} }, "other"), {
    command: { ...given, args: ["run", "--rm", "--name", "mine", "image"], environment: {} },
    after: ["/usr/bin/podman", "rm", "--force", "mine"],
  });
  const bare = { program: "vllm", args: ["serve", "run"], environment: {} };
  assert.deepEqual(boundCommand(bare, "other"), { command: bare });
});
