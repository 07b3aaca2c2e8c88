import assert from "node:assert/strict";
import { momentText, momentTime } from "../../../core/jobs/moments.ts";

Deno.test("a moment is told and read as it is, whichever one was before it", () => {
  const first = Date.UTC(2026, 10, 28, 12);
  for (const time of [first, first, first + 1, first, first + 86_400_000, first + 0.5]) {
    const text = new Date(time).toISOString();
    assert.equal(momentText(time), text);
    assert.equal(momentTime(text), Math.floor(time));
  }
  assert.equal(momentTime("2026-11-28T12:00:00Z"), first);
  assert.equal(momentText(first), "2026-11-28T12:00:00.000Z"); // not as somebody else wrote it
  assert.throws(() => momentText(NaN), RangeError);
});
