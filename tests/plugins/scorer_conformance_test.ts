import { fileURLToPath } from "node:url";
import { createBackendClient } from "../../python-backends/client.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { evaluationFiles } from "../fixtures/evaluation_files.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { scorerConformance } from "./scorer_conformance.ts";

/** A scorer of nobody's folder. */
const THIRD_PARTY = fileURLToPath(
  new URL("../fixtures/third_party/shared_words/shared_words.ts", import.meta.url),
);

/** A judge that calls what a spider has eight of true and informative, best by a rubric, and nothing else. */
function judging() {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const { prompt = "", messages } = await request.json().catch(() => ({}));
    if (messages !== undefined) {
      const right = /\nEight\.\n<\/answer /.test(String(messages[0].content)) ? 5 : 1;
      const content = JSON.stringify({ reason: "so", right });
      return Response.json({ choices: [{ message: { content }, finish_reason: "stop" }] });
    }
    const text = String(prompt).includes("A: Eight.") ? " yes" : " no";
    return Response.json({ choices: [{ text, finish_reason: "stop" }] });
  });
}

Deno.test("every scorer, a third party's too, keeps the contract through the real worker", async (t) => {
  await shareDefaultEnvironment();
  const { scorers } = await discoverPlugins([THIRD_PARTY]);
  const paths = [...evaluationFiles().map(({ path }) => path), THIRD_PARTY];
  const client = createBackendClient({ home: temporaryFolder("scorers") });
  const server = judging();
  try {
    for (const scorer of scorers) {
      const path = paths.find((one) =>
        one.endsWith(`/${scorer.name}.ts`) && /scorers|third_party/.test(one)
      ) ?? "no file of its name";
      const judge = scorer.judges === true ? `http://127.0.0.1:${server.addr.port}/v1` : undefined;
      const folder = temporaryFolder(`scorer-${scorer.name}`);
      const world = { client, folder, ...(judge === undefined ? {} : { judge }) };
      await t.step(scorer.name, async (one) => {
        await scorerConformance(scorer, path, world, (name, check) =>
          one.step(name, check));
      });
    }
  } finally {
    await client.close();
    await server.shutdown();
  }
});
