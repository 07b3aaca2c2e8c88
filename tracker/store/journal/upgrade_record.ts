/** Version of the form in which records are written; a reader reads it and every older one. */
export const RECORD_VERSION = 8;

type Raw = Record<string, unknown>;

/** A record's field under its name of today; one that has none stays as it is. */
function renamed(record: unknown, from: string, to: string): unknown {
  if (typeof record !== "object" || record === null || !(from in record)) return record;
  const { [from]: value, ...rest } = record as Raw; // an object, as was just asked
  return { ...rest, [to]: value };
}

function renamedInEach(list: unknown, from: string, to: string): unknown {
  return Array.isArray(list) ? list.map((one) => renamed(one, from, to)) : list;
}

/**
 * Until version 7 a worker's call and an action's number were called `stage`, as the steps of a staged
 * run are.
 */
function withoutStages(record: Raw): Raw {
  switch (record["type"]) {
    case "resources":
    case "energy_read":
    case "log_written":
      return renamed(record, "stage", "call") as Raw;
    case "samples_written":
    case "points":
      return renamed(record, "stage", "action_index") as Raw;
    case "stage_evaluated":
      return { ...renamed(record, "stage", "action_index") as Raw, type: "action_evaluated" };
    case "trial_closed": {
      const trial = record["trial"] as Raw;
      const failure = renamed(trial["failure"], "stage", "phase");
      const gates = renamedInEach(trial["gates"], "stage", "action_index");
      const spans = renamedInEach(trial["spans"], "stage", "action_index");
      return { ...record, trial: { ...trial, failure, gates, spans } };
    }
    default:
      return record;
  }
}

/**
 * What makes a record of version n one of version n + 1, by n. A step stays for ever: the journals
 * of every released version are read with it. A version that only added types of records, or a
 * field that its schema gives to older ones (the kind of run of a request), has none.
 */
const STEPS: Readonly<Record<number, (record: Raw) => Raw>> = { 7: withoutStages };

/** A payload of an older version in today's form, not yet checked against its schema. */
export function upgradeRecord(version: number, payload: unknown): unknown {
  if (typeof payload !== "object" || payload === null) return payload;
  let record = payload as Raw; // any object; its fields are checked by the schema
  for (let from = version; from < RECORD_VERSION; from++) {
    record = STEPS[from]?.(record) ?? record;
  }
  return record;
}
