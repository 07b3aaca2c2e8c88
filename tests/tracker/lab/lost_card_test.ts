/** Cards that a program plays: the one that is lost is given to nobody, and its call goes on at another one. */
import assert from "node:assert/strict";
import type { JournalRecord, Outcome } from "../../../core/mod.ts";
import type { BackendClient } from "../../../python-backends/client.ts";
import { createCallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { shareOut } from "../../../tracker/lab/runner/machine/worker_share.ts";
import { smallFacts } from "../../core/spec_fixtures.ts";
import { playedCards } from "../../fixtures/played_cards.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const DESCRIBED = { call: "verify" } as never; // of a trial; what else it says nobody here reads
const BROKEN: Outcome<never> = {
  ok: false,
  failure: { kind: "crash", message: "CUDA error", hint: null, phase: "verify" },
  spans: [],
};

/** A study on so many workers, whose calls end as `run` says of the card that they see. */
async function onCards(workers: number, run: (seen: string | undefined) => Promise<boolean>) {
  const records: JournalRecord[] = [];
  const [seen, told] = [[] as (string | undefined)[], { no_card: 0 }];
  const { device, ...facts } = smallFacts();
  const client = {
    async run(_: unknown, { env }: { env?: Record<string, string> }) {
      const card = env?.["CUDA_VISIBLE_DEVICES"];
      seen.push(card);
      return await run(card) ? { ok: true, value: {}, spans: [] } : BROKEN;
    },
  } as unknown as BackendClient;
  const runner = createCallRunner({
    ...{ client, study_id: "study", signal: new AbortController().signal, onEvent: () => {} },
    record: (record) => Promise.resolve(void records.push(record)),
    keepLog: () => Promise.resolve(null),
    timestamp: () => "2026-01-01T00:00:00Z",
    shareOut: shareOut(workers, { ...facts, device: { ...device, device: "cuda", gpus: 2 } }),
    onNoCard: () => void told.no_card++,
  });
  const call = (trial: string) => runner(`study/${trial}`, DESCRIBED, "default");
  const alerts = () => records.flatMap((one) => one.type === "alert" ? [one.evidence] : []);
  return await Promise.resolve({ call, seen, told, alerts });
}

Deno.test("a call whose card is lost goes on at the card of another worker once that is free", async () => {
  const cards = await playedCards(temporaryFolder("lost-card"));
  const other = Promise.withResolvers<void>();
  const { call, seen, told, alerts } = await onCards(2, async (card) => {
    if (card === "0") await cards.lose("0");
    else if (seen.length === 2) await other.promise;
    return card !== "0";
  });
  const [first, second] = [call("t01"), call("t02")];
  while (seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  setTimeout(other.resolve, 100);
  assert.ok((await first).ok);
  assert.ok((await second).ok);
  assert.deepEqual(seen, ["0", "1", "1"]);
  assert.deepEqual(alerts(), ["card 0 does not answer any more"]);
  assert.ok((await call("t03")).ok);
  assert.equal(seen.at(-1), "1", "the lost one is given to nobody");
  assert.equal(told.no_card, 0);
});

Deno.test("a study on one worker goes on at the cards that are left, and ends where none is", async () => {
  const cards = await playedCards(temporaryFolder("lost-cards"));
  const { call, seen, told, alerts } = await onCards(1, async (card) => {
    await cards.lose(card === undefined ? "0" : "1");
    return false;
  });
  const outcome = await call("t01");
  assert.deepEqual(seen, [undefined, "1"]);
  assert.match(
    outcome.ok ? "" : outcome.failure.message,
    /Cannot verify as no card of this machine answers any more/,
  );
  assert.equal(told.no_card, 1);
  assert.equal(alerts().length, 2);
});

Deno.test("a call that fails on a card that answers has failed", async () => {
  await playedCards(temporaryFolder("sound-card"));
  const { call, seen, alerts } = await onCards(2, () => Promise.resolve(false));
  assert.equal((await call("t01")).ok, false);
  assert.deepEqual([seen, alerts()], [["0"], []]);
});
