/** Studies of which little or nothing is known, on every page and answer of the board. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { JournalRecord } from "../../../core/mod.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { testBoard } from "../../fixtures/stores/board.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyOpened, trialRecords } from "../../fixtures/stores/records.ts";

/** A study whose trials all failed. */
function failures(study_id: string): JournalRecord[] {
  const figures = { number: 0, accuracy: 0, latency_ms: 1, size_bytes: 1, study_id };
  return [
    studyOpened(study_id),
    ...trialRecords(figures).flatMap((record): JournalRecord[] => {
      if (record.type === "trial_opened") return [record];
      if (record.type !== "trial_closed") return [];
      const kind = "out_of_memory" as const;
      const failure = { kind, phase: "apply", message: "out of <b>memory</b>", hint: null };
      const trial = { ...record.trial, state: "failed" as const, failure, measurements: [] };
      return [{ ...record, trial }];
    }),
  ];
}

Deno.test("Studies without trials, of failures alone and with figures that are no numbers have their pages", () =>
  inDirectory(async (root) => {
    const at = join(root, "store");
    {
      await using store = await openStore(at, { write: true });
      const odd = { number: 0, accuracy: NaN, latency_ms: 1, size_bytes: 1, study_id: "nan" };
      const records = [
        ...[studyOpened("empty"), ...failures("failures")],
        ...[studyOpened("nan"), ...trialRecords(odd)],
      ];
      await Promise.all(records.map((record) => store.record(record)));
      await store.flush({ wait_ms: 60_000 });
    }
    await using test = testBoard([at]);
    const page = async (path: string) => {
      const answer = await test.ask(path);
      const text = await answer.text();
      assert.equal(answer.status, 200, `${path}: ${text.slice(0, 300)}`);
      return text;
    };
    assert.match(await page("/studies/empty"), /Trials: none has begun/);
    const failed = await page("/studies/failures");
    assert.match(failed, /Why trials ended early/);
    assert.match(failed, /out of &lt;b&gt;memory&lt;\/b&gt;/);
    assert.match(await page("/studies/failures/trials/t00"), /class="refusal">out of &lt;b&gt;/);
    const told = /id="pare-front">([^<]*)</.exec(await page("/studies/nan"))?.[1];
    assert.doesNotMatch(told!, /accuracy/, "what is no number is not told");
    await page("/studies/nan/trials/t00");
    await page("/compare?first=empty&second=failures");
    for (const study of ["empty", "failures", "nan"]) {
      for (const part of ["", "/trials", "/front"]) await page(`/api/studies/${study}${part}`);
      assert.match(await page(`/api/studies/${study}/figures/pareto`), /^<svg/);
    }
    // Figures of caches: nothing is drawn of studies without contexts, and their pages do not ask.
    for (const name of ["qualityByCache", "needleMap", "cacheByContext", "keptPlaces"]) {
      assert.match(await page(`/api/studies/failures/figures/${name}`), /Nothing is drawn/);
      assert.ok(!failed.includes(name), name);
    }
  }));
