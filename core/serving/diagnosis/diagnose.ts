import type { Diagnosis, Found, ServerFacts, ServerRemedy } from "./diagnosis.ts";
import { INSTALL_ROWS } from "./install_rows.ts";
import { MEMORY_ROWS } from "./memory_rows.ts";
import { START_ROWS } from "./start_rows.ts";
import { USE_ROWS } from "./use_rows.ts";

/** All of them; of two that a log shows the first is meant, as it says more. */
export const DIAGNOSES: readonly Diagnosis[] = [
  ...MEMORY_ROWS,
  ...INSTALL_ROWS,
  ...START_ROWS,
  ...USE_ROWS,
];

/** What a log shows; null: nothing that is known. */
export function diagnose(log: string): Found | null {
  for (const diagnosis of DIAGNOSES) {
    const match = diagnosis.pattern === null ? null : log.match(diagnosis.pattern);
    if (match !== null) return { diagnosis, match };
  }
  return null;
}

/** A remedy as it is tried. */
export interface NextTry {
  readonly remedy: ServerRemedy;
  readonly args: string[];
}

/** Remedies that may be tried without a person: those that leave the answers as they are, or all. */
export type RetryScope = "same" | "rounded";

/**
 * The next remedy that changes the server's words into some that were not tried; null: there is none.
 * Each is taken as far as it goes before the one after it.
 */
export function nextTry(
  { diagnosis, match }: Found,
  args: readonly string[],
  facts: ServerFacts,
  { scope, tried }: { scope: RetryScope; tried: readonly (readonly string[])[] },
): NextTry | null {
  const known = new Set(tried.map((words) => JSON.stringify(words)));
  for (const remedy of diagnosis.remedies) {
    if (remedy.changes_answers === true && scope === "same") continue;
    const changed = remedy.change?.(args, facts, match) ?? null;
    if (changed !== null && !known.has(JSON.stringify(changed))) return { remedy, args: changed };
  }
  return null;
}

/** A diagnosis in words: its name, cause and remedies in their order. */
export function diagnosisText({ name, cause, remedies, outdated }: Diagnosis): string {
  return [
    `${name}: ${cause}`,
    ...remedies.map(({ says, changes_answers }, at) =>
      `  ${at + 1}. ${says}${changes_answers === true ? " (it changes the answers)" : ""}`
    ),
    ...(outdated === undefined ? [] : [`  no longer right: ${outdated}`]),
  ].join("\n");
}
