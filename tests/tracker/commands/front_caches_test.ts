import assert from "node:assert/strict";
import { UsageError } from "../../../core/mod.ts";
import llamaCpp from "../../../plugins/runtimes/llama.cpp.ts";
import { frontCaches } from "../../../tracker/commands/caches/front_caches.ts";
import type { CachesOptions } from "../../../tracker/session/study_caches.ts";
import type { StudySession } from "../../../tracker/session/study_session.ts";

Deno.test("a study's end takes a quarter of its budget at most where all is used, and says what is left", async () => {
  const asked: string[] = [];
  const session = (seconds: number, budget_seconds?: number) => ({
    view: () =>
      Promise.resolve({
        ...{ front: ["s/t01", "s/t02"], artifacts: new Map(), spec: {}, facts: {} },
        ...{ request: { budget_seconds }, episodes: [{ spent: { seconds } }] },
        trials: [1, 2].map((number) => ({
          ...{ trial_id: `s/t0${number}`, number, artifact_ids: [`a${number}`] },
        })),
      }),
    async caches({ trial, signal }: CachesOptions) {
      asked.push(trial!);
      const timer = new Promise((done) => setTimeout(done, 300, "free"));
      const ended = new Promise((done) => signal!.addEventListener("abort", () => done("ended")));
      throw new UsageError(`${await Promise.race([timer, ended])}`);
    },
  } as unknown as StudySession); // as much of one as is asked
  const told = async (seconds: number, budget?: number) => {
    asked.splice(0);
    const options = { onEvent: () => {}, signal: new AbortController().signal };
    const of = session(seconds, budget);
    const texts = await frontCaches(of, { ...llamaCpp, caches: llamaCpp.caches! }, options);
    return texts.map((text) => text.split(": ").at(-1));
  };
  const late = [1, 2].map((number) =>
    "the time of the study's budget is over; `npx -y deno task pare caches " +
    `s/t0${number} --runtime llama.cpp\` measures them`
  );
  assert.deepEqual(await told(0.8, 0.8), late);
  assert.deepEqual(asked, ["s/t01"], "what is under way ends, and no other begins");
  assert.deepEqual(await told(0, 1.6), ["free", "free"]);
  assert.deepEqual(await told(1e6), ["free", "free"], "without a budget");
});
