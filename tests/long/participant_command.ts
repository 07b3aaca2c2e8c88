import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runPare } from "../fixtures/programs.ts";
import { message, scriptedAgent } from "../fixtures/scripted_agent.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const CONFIG = `
name: Sums
datasets:
  - { type: synthetic, limit: 12 }
`;
const REFUSED_AT = 3;

Deno.test("an agent's evaluation is stopped, says how it goes on, and ends with every answer", async () => {
  await shareDefaultEnvironment();
  const folder = temporaryFolder("participant");
  const config = join(folder, "own.yaml");
  await writeFile(config, CONFIG);
  let asked = 0;
  await using agent = scriptedAgent(async ({ id, text }) => {
    asked += 1;
    if (asked === REFUSED_AT) return new Response("no", { status: 403 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    return Response.json({ jsonrpc: "2.0", id, result: message(`I read ${text.length}: 7`) });
  });
  const env = { PARE_HOME: join(folder, "home") };
  const words = ["participants", "evaluate", agent.url.href, "--config", config];
  const running = runPare([...words, "--concurrency", "1"], env);
  while (asked < 5) await new Promise((resolve) => setTimeout(resolve, 50));
  running.kill("SIGINT");
  const stopped = (await running).stdout;
  const [, line] = /`npx -y deno task pare (participants [^`]*)` goes on/.exec(stopped) ?? [];
  assert.ok(line, stopped);
  assert.ok(asked < 12, "it was stopped before its end");
  const result = join(folder, "result.json");
  const told = ["--store-predicted", "--predicted-max-chars", "6", "-o", result];
  const { exitCode, stdout } = await runPare([...line.split(" "), ...told], env);
  assert.equal(exitCode, 0, stdout);
  const { evidence, predicted, participant } = JSON.parse(await readFile(result, "utf8"));
  assert.equal(evidence.dataset_scores.synthetic.n, 12);
  assert.equal(predicted.length, 12);
  const texts = predicted.map(({ predicted }: { predicted: string }) => predicted);
  assert.ok(texts.filter((one: string) => one === "I read").length >= 11);
  assert.equal(participant.name, "scripted");
  assert.ok(asked <= 12 + 2, `${asked} were asked: what was answered is asked again`);
});
