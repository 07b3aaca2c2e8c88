import { visibleText } from "../../../core/errors.ts";
import { isDiskFull, isUnwritable } from "../../ground/storage/storage_error.ts";

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
  if (isDiskFull(error) || isUnwritable(error)) {
    console.error(visibleText(
      isDiskFull(error)
        ? `pare: Cannot go on as the disk is full (${reason}); free some space, or set PARE_HOME to ` +
          `a larger disk`
        : `pare: Cannot go on as a file or folder may not be used so (${reason}); change who may, or ` +
          `name another place by PARE_HOME or --store`,
    ));
    return 2;
  }
  console.error(visibleText(String(error instanceof Error ? error.stack : error)));
  return 1;
}
