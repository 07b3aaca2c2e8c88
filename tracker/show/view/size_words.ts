import { precisionIn, runtimeWords } from "../../../core/mod.ts";
import { bytes } from "./number_text.ts";
import type { StudyView } from "./study_view.ts";

/** What a file holds beside another, as people say it. */
function timesAs(size: number, other: number): string {
  return `${(size / other).toFixed(2)} times`;
}

/**
 * What the original takes, by the file that was given and as 16-bit floats, and what a trial takes
 * beside both; null where both are the same and no trial is asked for.
 */
export function sizeSentence(
  { facts: { model } }: Pick<StudyView, "facts">,
  trial?: { readonly name: string; readonly size_bytes: number | null },
): string | null {
  const { original_bytes: given, fp16_bytes: floats } = model;
  const alike = Math.abs(given / floats - 1) < 0.01;
  const size = trial?.size_bytes ?? null;
  if (alike && size === null) return null;
  const original = alike
    ? `The model as it was given takes ${bytes(given)}`
    : `The model as it was given takes ${bytes(given)} on disk, as 16-bit floats ${bytes(floats)}`;
  if (size === null || trial === undefined) return `${original}.`;
  const beside = alike
    ? `${timesAs(size, given)} that`
    : `${timesAs(size, given)} what was given and ${timesAs(size, floats)} the floats`;
  const warning = size > given ? "; it is larger than the file that was given" : "";
  return `${original}. ${trial.name} takes ${bytes(size)}, ${beside}${warning}.`;
}

/** The same of the recommended trial, or of the original alone where none is; and what is read of it. */
export function recommendedSize(
  view: Pick<StudyView, "facts" | "rows" | "recommended" | "spec">,
): string | null {
  const row = view.rows.find((one) => one.trial_id === view.recommended);
  const size = sizeSentence(
    view,
    row && { name: nameIn(row.trial_id), size_bytes: row.size_bytes },
  );
  const read = readSentence(view);
  return size === null || read === null ? size ?? read : `${size} ${read}`;
}

/** Bytes of the original that a token reads in the study's runtime; null: it was not timed there. */
export function readSentence({ facts, spec }: Pick<StudyView, "facts" | "spec">): string | null {
  const precision = precisionIn(spec, spec.runtime);
  const timed = facts.runtimes?.find((one) =>
    one.runtime === spec.runtime && one.precision === precision
  );
  if (timed?.bytes_read == null) return null;
  return `A token reads ${bytes(timed.bytes_read)} of the original in ${
    runtimeWords(timed.runtime, timed.precision)
  }.`;
}

/** A trial's name within its study: t03. */
export function nameIn(trial_id: string): string {
  return trial_id.split("/").at(-1) ?? trial_id;
}
