import assert from "node:assert/strict";
import { firstObject } from "../../core/mod.ts";

const FOUND: Record<string, unknown> = {
  '{"a": 1}': { a: 1 },
  'In a fence:\n```json\n{"a": "}{"}\n``` and {"b": 2}': { a: "}{" },
  '{"a": "\\"}"} rest': { a: '"}' },
  'a set {1, 2} and {"a": {"b": []}}': { a: { b: [] } },
  'open { and {"a": 1}': { a: 1 },
  '<think>{"a": 1}</think>{"a": 2}': { a: 2 },
  'no thought</think>{"a": 3}': { a: 3 },
};

Deno.test("firstObject() finds the first whole object behind prose, fences and thoughts", () => {
  for (const [text, value] of Object.entries(FOUND)) {
    const found = firstObject(text);
    assert.deepEqual(found?.value, value, text);
    assert.ok(text.slice(0, found!.end).endsWith("}"), text);
  }
});

Deno.test("firstObject() finds none in what is cut, no JSON or thought only", () => {
  for (const text of ["", "{", '{"a": 1', '{"a": "}', "{1, 2}", '<think>{"a": 1}', "}{"]) {
    assert.equal(firstObject(text), null, text);
  }
  assert.equal(firstObject('{"a": {"b": 1}', { more: true }), null);
  assert.deepEqual(firstObject('{"a": {"b": 1}')?.value, { b: 1 });
  assert.equal(firstObject("{".repeat(1_000_000)), null);
});
