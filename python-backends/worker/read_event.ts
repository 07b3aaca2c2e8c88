import { type CallName, type CallResult, CALLS, WorkerEvent } from "../../core/mod.ts";

/** A line of the wire, checked; or why it is none. */
export type ReadEvent = { ok: true; event: WorkerEvent } | { ok: false; reason: string };

/** Reads one line that a worker wrote. */
export function readEvent(line: string): ReadEvent {
  let payload: unknown;
  try {
    payload = JSON.parse(line);
  } catch {
    return { ok: false, reason: `no JSON: ${shown(line)}` };
  }
  const event = WorkerEvent.safeParse(payload);
  if (event.success) return { ok: true, event: event.data };
  const issue = event.error.issues[0];
  return { ok: false, reason: `${issue?.path.join(".")}: ${issue?.message}: ${shown(line)}` };
}

/** Reads a call's result; NaN and infinities come as strings and are numbers afterwards. */
export function readResult<S extends CallName>(
  call: S,
  payload: unknown,
): { ok: true; value: CallResult<S> } | { ok: false; reason: string } {
  const schema = CALLS[call].result;
  let parsed = schema.safeParse(payload);
  // A string that the schema takes as text stays text: only what it refuses is a number.
  if (!parsed.success && revive(payload, parsed.error.issues)) parsed = schema.safeParse(payload);
  if (parsed.success) {
    return { ok: true, value: parsed.data as CallResult<S> }; // the schema of this very call
  }
  const issue = parsed.error.issues[0];
  return { ok: false, reason: `${issue?.path.join(".")}: ${issue?.message}` };
}

function revive(payload: unknown, issues: readonly { path: PropertyKey[] }[]): boolean {
  let changed = false;
  for (const { path } of issues) {
    let owner: unknown = payload;
    for (const key of path.slice(0, -1)) owner = (owner as Record<PropertyKey, unknown>)?.[key];
    const last = path.at(-1);
    if (last === undefined || typeof owner !== "object" || owner === null) continue;
    const record = owner as Record<PropertyKey, unknown>; // an object or array of the JSON
    const value = record[last];
    if (value === "NaN" || value === "Infinity" || value === "-Infinity") {
      record[last] = Number(value);
      changed = true;
    }
  }
  return changed;
}

function shown(line: string): string {
  return JSON.stringify(line.length <= 120 ? line : `${line.slice(0, 119)}…`);
}
