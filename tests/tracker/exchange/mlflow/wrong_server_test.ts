import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { main } from "../../../../tracker/cli.ts";
import { mirrorFile } from "../../../../tracker/exchange/mlflow/mirror_progress.ts";
import { startFakeServer } from "./fake_server.ts";
import { mirrorTo, recordStudy } from "./mirror_world.ts";

const WRONG: Record<string, () => Response> = {
  "a redirect": () => new Response("", { status: 302, headers: { location: "https://x.test/" } }),
  "400": () => new Response("Bad Request", { status: 400 }),
  "404": () => new Response("<h1>Not Found</h1>", { status: 404 }),
  "MLflow's own 404": () =>
    Response.json({ error_code: "RESOURCE_DOES_NOT_EXIST", message: "No run" }, { status: 404 }),
};

for (const [name, answer] of Object.entries(WRONG)) {
  Deno.test(`nothing counts as mirrored where every answer is ${name}`, async () => {
    const root = await Deno.makeTempDir();
    const wrong = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, answer);
    try {
      await recordStudy(root, "s1");
      const uri = `http://127.0.0.1:${wrong.addr.port}`;
      const error = console.error;
      let said = "";
      console.error = (...parts: unknown[]) => said += parts.join(" ");
      const code = await main(["mlflow", "sync", "--mlflow", uri, "--store", root])
        .finally(() => console.error = error);
      assert.equal(code, 2, said);
      assert.match(said, /The MLflow server refused .*sync again to go on/);
      assert.throws(() => readFileSync(mirrorFile(root, "s1")), "a place was written down");
    } finally {
      await wrong.shutdown();
      await Deno.remove(root, { recursive: true });
    }
  });

  Deno.test(`what a server stopped taking half way by ${name} is sent later`, async () => {
    const root = await Deno.makeTempDir();
    let right = true;
    const params: string[] = [];
    const server = startFakeServer((batch) => {
      if (right) params.push(...batch.params.map(({ key }) => key));
      return null;
    });
    const proxy = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
      if (!right) return answer();
      const { pathname, search } = new URL(request.url);
      return fetch(`${server.uri}${pathname}${search}`, request);
    });
    const uri = `http://127.0.0.1:${proxy.addr.port}`;
    try {
      const { end } = await recordStudy(root, "s1");
      const two_thirds = Math.floor(2 * end / 3);
      const mirror = mirrorTo(uri, root);
      mirror.follow("s1", null);
      await mirror.pass({ s1: Math.floor(end / 3) }); // its runs are known
      right = false;
      const before = readFileSync(mirrorFile(root, "s1"), "utf8");
      await assert.rejects(mirror.pass({ s1: two_thirds }), /The MLflow server refused/);
      assert.equal(readFileSync(mirrorFile(root, "s1"), "utf8"), before);
      right = true;
      const sent = params.length;
      await mirror.pass({ s1: two_thirds });
      assert.ok(params.length > sent);
    } finally {
      await proxy.shutdown();
      await server.stop();
      await Deno.remove(root, { recursive: true });
    }
  });
}

Deno.test("a server that never answers is told once, not after every retry", async () => {
  const root = await Deno.makeTempDir();
  const release = Promise.withResolvers<Response>();
  let asked = 0;
  const hanging = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    asked += 1;
    return release.promise;
  });
  try {
    const { end } = await recordStudy(root, "s1");
    const patience = { timeout_ms: 300, retries: 4, backoff_ms: 20, longest_pause_ms: 100 };
    const mirror = mirrorTo(`http://127.0.0.1:${hanging.addr.port}`, root, { patience });
    mirror.follow("s1", null);
    await assert.rejects(mirror.pass({ s1: end }), /it did not answer in time/);
    assert.equal(asked, 1);
  } finally {
    release.resolve(new Response(""));
    await hanging.shutdown();
    await Deno.remove(root, { recursive: true });
  }
});

/** The real answers of a server that keeps runs, but for what is logged and, where it is gone, its runs. */
function refusingLogs(gone: boolean) {
  let refusing = false;
  const server = startFakeServer(() => null);
  const proxy = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    const refused = refusing &&
      (/log-batch$/.test(pathname) || gone && /runs\/get$/.test(pathname));
    if (refused) return new Response("Bad Request", { status: 400 });
    return fetch(`${server.uri}${pathname}${search}`, request);
  });
  return {
    uri: `http://127.0.0.1:${proxy.addr.port}`,
    refuse: () => void (refusing = true),
    async [Symbol.asyncDispose]() {
      await proxy.shutdown();
      await server.stop();
    },
  };
}

for (const gone of [true, false]) {
  Deno.test(`a refused log is ${gone ? "kept for later where the run is" : "left out where the run is not"} gone`, async () => {
    const root = await Deno.makeTempDir();
    await using server = refusingLogs(gone);
    try {
      const { end } = await recordStudy(root, "s1");
      const said: string[] = [];
      const mirror = mirrorTo(server.uri, root, { onSaid: (sentence) => said.push(sentence) });
      mirror.follow("s1", null);
      const [before, after] = [Math.floor(end / 3), Math.floor(2 * end / 3)];
      await mirror.pass({ s1: before });
      const place = readFileSync(mirrorFile(root, "s1"), "utf8");
      server.refuse();
      if (gone) {
        await assert.rejects(mirror.pass({ s1: after }), /The MLflow server refused .*log-batch/);
        assert.deepEqual(said, []);
        assert.equal(readFileSync(mirrorFile(root, "s1"), "utf8"), place);
      } else {
        await mirror.pass({ s1: after });
        assert.ok(said.length > 0 && said.every((one) => /^MLflow did not take: /.test(one)));
        assert.notEqual(readFileSync(mirrorFile(root, "s1"), "utf8"), place);
      }
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  });
}
