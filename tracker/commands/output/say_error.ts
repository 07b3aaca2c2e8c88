import { visibleText } from "../../../core/errors.ts";
import { storageFault } from "../../ground/storage/storage_error.ts";

/** Errors that are a sentence, with their exit codes: 130 is what a shell says of Ctrl-C. */
const SAID: Readonly<Record<string, number>> = { UsageError: 2, NoAnswer: 130, Stopped: 130 };

/** Says why a command ended, and its exit code: 1 with a stack where the mistake is pare's own. */
export function sayError(error: unknown): number {
  const reason = error instanceof Error ? error.message : "";
  const code = error instanceof Error ? SAID[error.name] : undefined;
  if (code !== undefined) {
    console.error(`pare: ${visibleText(reason)}`);
    return code;
  }
  const fault = storageFault(error);
  if (fault !== null) {
    const { why, then } = fault;
    console.error(visibleText(`pare: Cannot go on as ${why} (${reason}); ${then}`));
    return 2;
  }
  console.error(visibleText(String(error instanceof Error ? error.stack : error)));
  return 1;
}
