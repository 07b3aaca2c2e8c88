import { join } from "node:path";
import { z } from "zod";
import { type Engine, EngineError, type Slots, UsageError } from "../../../core/mod.ts";
import { lockOwner } from "../../../python-backends/file_lock.ts";
import { readWhole, writeWhole } from "../../../python-backends/whole_file.ts";
import { sha256Text } from "../../ground/storage/file_hash.ts";
import type { QueuePaths } from "../../store/queue/queue_paths.ts";
import { readEngines } from "../engines/engines_file.ts";
import { openEngine } from "../engines/open_engine.ts";
import { probe } from "../engines/probe.ts";
import { lacks } from "../engines/slots.ts";

/** What an engine said that a job names. */
interface AskedEngine {
  /** The most that one of its machines has; null: it could not be asked. */
  readonly largest: Slots | null;
  /** Why it could not be asked, or what was not seen of it; null: all was. */
  readonly unseen: string | null;
}

/** Who puts jobs in line waits no longer for a first small one: in a full cluster it has no room. */
const WAIT_MS = 10_000;

/** So long what was seen of an engine stands: of a hundred jobs put in line the first one looks. */
const STANDS_MS = 3_600_000;

const Seen = z.object({ at: z.number(), unseen: z.string().nullable() });

/** Runs a first small job there, where none was of late; gives what could not be seen. */
async function seeFolder(engine: Engine, books: string, file: string): Promise<string | null> {
  const asked = [engine.name, readEngines(file).get(engine.name) ?? null];
  const key = sha256Text(JSON.stringify([...asked, Deno.hostname(), Deno.execPath()]));
  const path = join(books, "seen", `${key.slice(0, 16)}.json`);
  const before = Seen.safeParse(readWhole(path)).data;
  const age = before === undefined ? Infinity : Date.now() - before.at;
  if (age >= 0 && age < STANDS_MS) return before!.unseen;
  const unseen = await probe(engine, books, WAIT_MS);
  writeWhole(path, { at: Date.now(), unseen });
  return unseen;
}

/**
 * Asks the engine that a job names before the job is in line: its name, its partition, its token, whether
 * one of its machines has the slots, and by a first small job whether they see the store's folder. It is
 * refused only where the engine would have refused the job; one that gives no answer now may do so later.
 *
 * @throws UsageError where the job could never begin there.
 */
export async function checkEngine(
  called: string,
  slots: Slots | undefined,
  { books, driver }: QueuePaths,
  file: string,
): Promise<AskedEngine> {
  try {
    const engine = await openEngine(called, { file, books });
    await engine.check?.(null);
    const { largest } = await engine.capacity();
    const lacking = slots === undefined ? null : lacks(slots, largest);
    if (lacking === null) {
      const here = engine.here === true;
      return { largest, unseen: here ? null : await seeFolder(engine, books, file) };
    }
    throw new EngineError(
      "refused",
      `Cannot put a job in line for ${called}: it needs ${lacking} that its largest machine has`,
    );
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    // Another machine that runs what is in line may have a cluster that this one has not.
    const host = lockOwner(driver)?.host ?? "";
    if (error.kind === "refused" && host === "") throw new UsageError(error.message);
    const who = host === "" ? "whoever runs what is in line" : host;
    return { largest: null, unseen: `${called} is asked by ${who}: ${error.message}` };
  }
}
