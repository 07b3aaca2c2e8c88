import { EngineError, type Slots, UsageError } from "../../../core/mod.ts";
import { lockOwner } from "../../../python-backends/file_lock.ts";
import type { QueuePaths } from "../../store/queue/queue_paths.ts";
import { openEngine } from "../engines/open_engine.ts";
import { lacks } from "../engines/slots.ts";

/** What an engine said that a job names. */
interface AskedEngine {
  /** The most that one of its machines has; null: it could not be asked. */
  readonly largest: Slots | null;
  /** Why it could not be asked; null: it was. */
  readonly unseen: string | null;
}

/**
 * Asks the engine that a job names before the job is in line: its name, its partition, its token, and
 * whether one of its machines has the slots. Nothing is submitted to it. It is refused only where the
 * engine would have refused the job; one that gives no answer now may do so later.
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
    if (lacking === null) return { largest, unseen: null };
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
