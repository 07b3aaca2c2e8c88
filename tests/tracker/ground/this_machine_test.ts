import assert from "node:assert/strict";
import { execa } from "execa";
import { denoWords } from "../../fixtures/programs.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { join } from "node:path";

const HERE = new URL("../../../tracker/ground/http/this_machine.ts", import.meta.url).href;
const NOWHERE = "http://127.0.0.1:9";

Deno.test("a proxy is asked for nothing on this machine, and for all else", async () => {
  const script = join(temporaryFolder("proxy"), "asks.ts");
  await Deno.writeTextFile(
    script,
    `import { passProxyHere } from ${JSON.stringify(HERE)};
    passProxyHere();
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => new Response("here"));
    const said = (url) => fetch(url).then((answer) => answer.text(), () => "nowhere");
    const own = await said("http://127.0.0.1:" + server.addr.port);
    const past = await said("http://past.example:" + server.addr.port);
    console.log(own, past, Deno.env.get("no_proxy"));
    await server.shutdown();`,
  );
  const [program, ...words] = denoWords(script);
  const asked = async (env: Record<string, string>) =>
    (await execa(program!, words, { env: { NO_PROXY: "", no_proxy: "", ...env } })).stdout;
  assert.equal(
    await asked({ HTTP_PROXY: NOWHERE, NO_PROXY: "a.example" }),
    "here nowhere a.example,localhost,127.0.0.1,::1",
  );
  assert.equal(await asked({ http_proxy: NOWHERE, no_proxy: "*" }), "here nowhere *");
});
