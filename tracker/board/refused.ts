import { UsageError } from "../../core/mod.ts";

/** HTTP's numbers of what the board refuses. */
export type RefusedStatus = 400 | 401 | 403 | 404 | 409 | 413 | 500;

/** A sentence of the command line with the status that HTTP has for it. */
export class Refused extends UsageError {
  constructor(readonly status: RefusedStatus, sentence: string) {
    super(sentence);
  }
}

/** The status and the sentence that an error is answered with; null: it is a mistake of ours. */
export function refusedBy(error: unknown): { status: RefusedStatus; sentence: string } | null {
  if (error instanceof Refused) return { status: error.status, sentence: error.message };
  if (!(error instanceof Error) || error.name !== "UsageError") return null;
  const absent = /^(Unknown (study|trial|store|figure) |Cannot find )/.test(error.message);
  return { status: absent ? 404 : 400, sentence: error.message };
}
