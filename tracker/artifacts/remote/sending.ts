/**
 * Who sends parts and who removes them do not meet: each says first that it begins, and looks then whether the
 * other does. This needs a store that shows at once what was written there, as S3 does, and no more.
 */
import { z } from "zod";
import { UsageError } from "../../../core/mod.ts";
import type { ObjectStore } from "./object_store.ts";

const Told = z.strictObject({ at: z.iso.datetime() });

const COLLECTING = "collecting.json";
/** Milliseconds after which who said that it begins is taken to be gone. */
const GONE_MS = { sending: 24 * 3_600_000, collecting: 3_600_000 };

const told = (): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(JSON.stringify({ at: new Date().toISOString() }));

async function isUnderWay(objects: ObjectStore, name: string, gone_ms: number): Promise<boolean> {
  const bytes = await objects.get(name, 1024);
  if (bytes === null) return false;
  try {
    const { at } = Told.parse(JSON.parse(new TextDecoder().decode(bytes)));
    return Date.now() - Date.parse(at) < gone_ms;
  } catch {
    return true; // nobody knows: it may be
  }
}

/** Sends parts; refused while some are removed. */
export async function whileSending<T>(objects: ObjectStore, work: () => Promise<T>): Promise<T> {
  const own = `sending/${crypto.randomUUID()}.json`;
  await objects.put(own, told());
  try {
    if (await isUnderWay(objects, COLLECTING, GONE_MS.collecting)) {
      throw new UsageError(
        `Cannot send to ${objects.address} now as \`pare gc --objects\` removes artifacts there: try ` +
          "again once it has ended",
      );
    }
    return await work();
  } finally {
    await objects.remove(own).catch(() => {}); // whose keys may not remove: it counts for a day
  }
}

/** Removes parts; refused while some are sent. */
export async function whileCollecting<T>(objects: ObjectStore, work: () => Promise<T>): Promise<T> {
  const refuse = (why: string) =>
    new UsageError(`Cannot remove artifacts of ${objects.address} now as ${why}: try again later`);
  if (await isUnderWay(objects, COLLECTING, GONE_MS.collecting)) {
    throw refuse("another `pare gc --objects` does");
  }
  await objects.put(COLLECTING, told());
  try {
    const names = await objects.list("sending/");
    const under_way = await Promise.all(
      names.map((name) => isUnderWay(objects, name, GONE_MS.sending)),
    );
    const count = under_way.filter((one) => one).length;
    if (count > 0) throw refuse(count === 1 ? "one is being sent" : `${count} are being sent`);
    for (const name of names) await objects.remove(name);
    return await work();
  } finally {
    await objects.remove(COLLECTING).catch(() => {}); // it counts for an hour
  }
}
