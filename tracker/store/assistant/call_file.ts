/** Calls of assistants, a line each, in the order of their ends: `assistant/calls.jsonl` beside the runs. */
import { appendFileSync, closeSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";

/** Characters of a call's arguments that are kept. */
const MOST_ARGUMENTS = 4_000;
const NEWLINE = 0x0a;

export const AssistantCall = z.strictObject({
  called_at: z.iso.datetime(),
  client: z.string().describe("name and version, as the assistant's program gives them"),
  tool: z.string(),
  arguments: z.string().describe("as JSON, cut where it is long"),
  outcome: z.enum(["answered", "refused", "failed"]),
  reason: z.string().nullable().describe("the sentence that it was refused with"),
  answer_chars: z.int().describe("of the text that was given"),
  seconds: z.number(),
});
export type AssistantCall = z.infer<typeof AssistantCall>;

export function callsPath(root: string): string {
  return join(root, "assistant", "calls.jsonl");
}

/** One write for one line: those of several processes do not mix. */
export function appendCall(root: string, call: AssistantCall): void {
  const path = callsPath(root);
  mkdirSync(dirname(path), { recursive: true });
  const kept = { ...call, arguments: call.arguments.slice(0, MOST_ARGUMENTS) };
  appendFileSync(path, `${JSON.stringify(AssistantCall.parse(kept))}\n`);
}

/** Calls behind a place, and the place behind the last whole line; a line that is none is counted. */
export function readCalls(
  root: string,
  from: number,
): { calls: AssistantCall[]; end: number; unread: number } {
  const bytes = bytesFrom(callsPath(root), from);
  const whole = bytes.lastIndexOf(NEWLINE) + 1;
  const lines = new TextDecoder().decode(bytes.subarray(0, whole)).split("\n").slice(0, -1);
  const read = lines.map((line) => callOf(line));
  const calls = read.filter((one) => one !== null);
  return { calls, end: from + whole, unread: read.length - calls.length };
}

export function callBytes(root: string): number {
  return statSync(callsPath(root), { throwIfNoEntry: false })?.size ?? 0;
}

function callOf(line: string): AssistantCall | null {
  try {
    return AssistantCall.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

function bytesFrom(path: string, from: number): Uint8Array {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const bytes = new Uint8Array(Math.max(0, size - from));
  if (bytes.length === 0) return bytes;
  const file = openSync(path, "r");
  try {
    let at = 0;
    while (at < bytes.length) {
      const read = readSync(file, bytes, at, bytes.length - at, from + at);
      if (read === 0) break;
      at += read;
    }
    return bytes.subarray(0, at);
  } finally {
    closeSync(file);
  }
}
