/** What the engine of Ray makes of a head that is slow, down, wrong or not asked rightly. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { attemptPaths } from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { RayEngine } from "../../../tracker/jobs/engines/ray/ray_engine.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { attemptOf } from "./engine_cases.ts";

const NODES = {
  data: {
    clusterStatus: {
      loadMetricsReport: {
        usageByNode: { a: { CPU: [1, 2], memory: [0, 4e9] }, b: { CPU: [0, 8] } },
      },
    },
  },
};

type Answers = Readonly<Record<string, (asked: Request) => Response | Promise<Response>>>;

/** Asks an engine whose head gives these answers, by method and path. */
async function withHead(
  answers: Answers,
  ask: (engine: RayEngine, asked: string[]) => Promise<void>,
): Promise<void> {
  const asked: string[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const what = `${request.method} ${new URL(request.url).pathname}`;
    asked.push(what);
    const answer = answers[what];
    return answer?.(request) ?? new Response(`no ${what}`, { status: 404 });
  });
  const head = { name: "ray", url: `http://127.0.0.1:${server.addr.port}`, token: "secret" };
  const options = { token_from: "RAY_AUTH_TOKEN", timeout_ms: 1500 };
  await ask(
    new RayEngine("ray", { head: { ...head, ...options }, deno: "/deno", machine: null }),
    asked,
  );
}

const nodes = () => Response.json(NODES);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const here = () => ({ root: temporaryFolder("ray-answers") });

Deno.test("a head that answers 500 as it has the id is taken at its word, by its text alone", async () => {
  const attempt = attemptOf(here(), "exit 0");
  const posted: unknown[] = [];
  const post = async (request: Request) => {
    assert.equal(request.headers.get("authorization"), "Bearer secret");
    posted.push(await request.json());
    const text = "Traceback (most recent call last):\n ...\nValueError: Job x already exists";
    return posted.length === 1 ? Response.json({}) : new Response(text, { status: 500 });
  };
  let { folder } = attempt;
  const jobs = () =>
    Response.json([{
      ...{ submission_id: `${attempt.id}-1`, status: "RUNNING", metadata: { folder } },
      ...{ type: "SUBMISSION", driver_exit_code: null, message: null },
    }]);
  const head = {
    "GET /api/cluster_status": nodes,
    "GET /api/jobs/": jobs,
    "POST /api/jobs/": post,
  };
  await withHead(head, async (engine) => {
    assert.equal(await engine.submit({ ...attempt, env: { A: "b" } }), attempt.folder);
    assert.equal(await engine.submit(attempt), attempt.folder);
    folder = "/other/store";
    await assert.rejects(engine.submit(attempt), { kind: "refused", message: /there for \/other/ });
  });
  const [first] = posted as Record<string, unknown>[];
  assert.equal(first!["submission_id"], `${attempt.id}-1`);
  assert.deepEqual(first!["runtime_env"], { env_vars: { A: "b" } });
  assert.match(String(first!["entrypoint"]), /^'\/deno' 'run' .*'$/);
  assert.deepEqual(first!["metadata"], { folder: attempt.folder });
});

Deno.test("an answer that is late, broken, an error or no list is none yet, and nothing is lost by it", async () => {
  const wrong: Record<string, () => Response | Promise<Response>> = {
    "slow": () => pause(2500).then(() => Response.json([])),
    "garbage": () => new Response("<html>502</html>"),
    "no list": () => Response.json({ jobs: 1 }),
    "an error": () => new Response("Traceback\nRuntimeError: GCS is down", { status: 500 }),
    "elsewhere": () => Response.redirect("http://127.0.0.1:9/", 302),
  };
  const folder = attemptOf(here(), "exit 0").folder;
  for (const [what, answer] of Object.entries(wrong)) {
    await withHead({ "GET /api/jobs/": answer }, async (engine) => {
      await assert.rejects(
        engine.states([folder]),
        {
          name: "EngineError",
          kind: "down",
          message: /^Cannot ask ray for its jobs as ray|list of jobs$/,
        },
        what,
      );
    });
  }
  await withHead(
    { "GET /api/jobs/": () => pause(700).then(() => Response.json([])) },
    async (engine) => {
      assert.equal(
        (await engine.states([folder])).get(folder)!.state,
        "unknown",
        "late, and in time",
      );
    },
  );
  const head = { name: "ray", url: "http://127.0.0.1:9", token: "t", token_from: "X" };
  const down = new RayEngine("ray", { head, deno: "/deno", machine: null });
  await assert.rejects(down.capacity(), { kind: "down", message: /ray gives no answer/ });
});

Deno.test("a token that is wrong is one sentence, asked once, and nothing is begun", async () => {
  const attempt = attemptOf(here(), "exit 0");
  for (const status of [401, 403]) {
    const refuse = () => new Response("Unauthorized", { status });
    await withHead({ "GET /api/cluster_status": refuse }, async (engine, asked) => {
      await assert.rejects(engine.submit(attempt), {
        kind: "refused",
        message:
          "Cannot ask ray for its machines as ray does not take the token of RAY_AUTH_TOKEN: give " +
          "the one that its head was started with",
      });
      assert.deepEqual(asked, ["GET /api/cluster_status"]);
    });
  }
  assert.equal(existsSync(attemptPaths(attempt.folder).request), false);
});

Deno.test("what a head says of a job is read as it was seen to be meant", async () => {
  const { root } = here();
  const jobs = {
    pending: { status: "PENDING", message: "Job has not started yet." },
    runs: { status: "RUNNING" },
    done: { status: "SUCCEEDED", driver_exit_code: 0 },
    seven: { status: "FAILED", driver_exit_code: 7, message: "log\nlast line" },
    died: { status: "FAILED", driver_exit_code: null, message: "Job supervisor actor died" },
    stopped: { status: "STOPPED", driver_exit_code: null },
    new: { status: "DREAMING" },
  };
  const list = Object.entries(jobs).map(([name, job]) => ({
    ...{ submission_id: `${name}-1`, metadata: { folder: join(root, name) } },
    ...job,
  }));
  await withHead(
    { "GET /api/jobs/": () => Response.json([{ status: "RUNNING" }, ...list]) },
    async (engine) => {
      const folders = [...Object.keys(jobs), "nobody"].map((name) => join(root, name));
      const states = [...(await engine.states(folders)).values()];
      assert.deepEqual(states.slice(0, -1), [
        { state: "queued", reason: "Job has not started yet." },
        { state: "running" },
        { state: "ended", how: "exit", code: 0 },
        { state: "ended", how: "exit", code: 7, reason: "last line" },
        { state: "ended", how: "lost", code: null, reason: "Job supervisor actor died" },
        { state: "ended", how: "cancelled", code: null },
        { state: "unknown", reason: "its head says DREAMING" },
      ]);
      assert.equal(states.at(-1)!.state, "unknown");
      assert.deepEqual(await engine.find("seven", 1), [join(root, "seven")]);
    },
  );
  await withHead({ "GET /api/cluster_status": nodes }, async (engine) => {
    const { total, free, largest } = await engine.capacity();
    assert.deepEqual([total, free, largest], [
      { cpu: 10, gpu: 0, memory_gb: 4 },
      { cpu: 9, gpu: 0, memory_gb: 4 },
      { cpu: 8, gpu: 0, memory_gb: 4 },
    ]);
  });
});

Deno.test("a head whose clock is an hour off is refused before anything is submitted, where it runs the jobs", async () => {
  const alone = structuredClone(NODES);
  Reflect.deleteProperty(alone.data.clusterStatus.loadMetricsReport.usageByNode, "b");
  const date = new Date(Date.now() + 3_600_000).toUTCString();
  const jobs = ({ headers }: Request) =>
    headers.has("authorization")
      ? Response.json([])
      : new Response("Unauthorized", { status: 401, headers: { date } });
  const head = { "GET /api/jobs/": jobs, "GET /api/cluster_status": () => Response.json(alone) };
  await withHead(head, async (engine, asked) => {
    await assert.rejects(engine.check(null), {
      ...{ name: "EngineError", kind: "refused" },
      message:
        "Cannot run jobs on ray as its clock is 60 minutes ahead of this machine's: set both " +
        "by a time server",
    });
    assert.ok(asked.every((one) => one.startsWith("GET ")), "nothing is submitted");
  });
  await withHead({ ...head, "GET /api/cluster_status": nodes }, async (engine) => {
    assert.equal(await engine.check(null), null, "its other machines have clocks of their own");
  });
});

Deno.test("a head that all may use, or that is far away without TLS, is refused", async () => {
  const { root } = here();
  await withHead({ "GET /api/jobs/": () => Response.json([]) }, async (engine) => {
    await assert.rejects(
      engine.check(root),
      /runs what anybody sends: start its head with RAY_AUTH_MODE/,
    );
  });
  const far = { name: "far", url: "http://ray.example:8265", token: "t", token_from: "X" };
  const open = (head: typeof far) => new RayEngine("far", { head, deno: "/deno", machine: null });
  assert.throws(() => open(far), /token would go over the network to ray\.example .*ssh -L 8265/);
  open({ ...far, url: "https://ray.example" });
});

Deno.test("a head behind a page to log in at, or one that says nothing without a token, is taken", async () => {
  const guarded = (without: () => Response | Promise<Response>) => ({
    "GET /api/jobs/": (request: Request) =>
      request.headers.has("authorization") ? Response.json([]) : without(),
    "GET /login": () => new Response("who are you?"),
  });
  const away = () => new Response(null, { status: 302, headers: { location: "/login" } });
  for (const without of [away, () => pause(2500).then(() => Response.json([]))]) {
    await withHead(guarded(without), async (engine) => {
      assert.equal(await engine.check(null), null);
    });
  }
});
