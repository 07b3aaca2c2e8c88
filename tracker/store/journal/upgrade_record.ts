/** Version of the form in which records are written; a reader reads it and every older one. */
export const RECORD_VERSION = 7;

type Raw = Record<string, unknown>;

/**
 * What makes a record of version n one of version n + 1, by n. A step stays for ever: the journals
 * of every released version are read with it. A version that only added types of records, or a
 * field that its schema gives to older ones (the kind of run of a request), has none.
 */
const STEPS: Readonly<Record<number, (record: Raw) => Raw>> = {};

/** A payload of an older version in today's form, not yet checked against its schema. */
export function upgradeRecord(version: number, payload: unknown): unknown {
  if (typeof payload !== "object" || payload === null) return payload;
  let record = payload as Raw; // any object; its fields are checked by the schema
  for (let from = version; from < RECORD_VERSION; from++) {
    record = STEPS[from]?.(record) ?? record;
  }
  return record;
}
