/** The race of a language model with ours: against a scripted server, and what its answers are worth. */
import assert from "node:assert/strict";
import { Strategist } from "../../../core/mod.ts";
import { chatEndpoint } from "../../../tracker/lab/search/chat_endpoint.ts";
import { CONTINUOUS } from "./problems/continuous_problems.ts";
import { raceStrategist } from "./strategist_race.ts";

const branin = CONTINUOUS.find(({ name }) => name === "branin_currin")!;

/** Races a server that answers by the script; the questions that it got. */
async function raced(script: (question: string, times: number) => string) {
  const questions: string[] = [];
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    const { messages } = await request.json();
    questions.push(messages[0].content);
    const content = script(messages[0].content, questions.length);
    return Response.json({ choices: [{ message: { content } }] });
  });
  try {
    const base_url = `http://127.0.0.1:${server.addr.port}/v1`;
    const chat = chatEndpoint(Strategist.parse({ base_url, model: "m" }), undefined);
    return { ...await raceStrategist(branin, chat, { seeds: 1, trials: 20 }), questions };
  } finally {
    await server.shutdown();
  }
}

Deno.test("the model is told the space and every trial, and its points are tried", async () => {
  const { ours, theirs: [run], questions } = await raced((_, times) =>
    `Sure: {"point": {"x0": ${0.1 + 0.05 * times}, "x1": 0.2}}`
  );
  assert.equal(questions.length, 10, "ten of the start, ten asked for");
  assert.match(questions[0]!, /"name":"x1","kind":"real"/);
  assert.match(questions[9]!, /"x0":0.55,"x1":0.2/, "the point before is told");
  assert.equal(run!.missed, 0);
  assert.equal(ours[0]!.curve[0], run!.curve[0], "both begin with the same points");
  assert.ok(run!.curve[1]! >= run!.curve[0]!);
});

Deno.test("an answer that is no point is asked again with the reason, then drawn and counted", async () => {
  const wrong = await raced(() => '{"point": {"x0": 7, "x1": 0.2}}');
  assert.equal(wrong.theirs[0]!.missed, 10);
  assert.equal(wrong.questions.length, 20);
  assert.match(wrong.questions[1]!, /cannot be taken: x0 is 7: it is a number from 0 to 1/);
  const same = await raced(() => '{"point": {"x0": 0.25, "x1": 0.25}}');
  assert.equal(same.theirs[0]!.missed, 9, "once it is new");
  assert.match(same.questions.at(-1)!, /that point was tried/);
});
