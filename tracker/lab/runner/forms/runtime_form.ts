import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Failure, Outcome, Span } from "../../../../core/mod.ts";
import { storageFailure } from "../../../ground/storage/storage_error.ts";
import { formKey } from "./form_key.ts";
import { type FormInput, type FormSource, inPrecision } from "../speed_input.ts";
import { namedRuntime } from "../source_closure.ts";
import { failed } from "../call_runner.ts";

/** What the runtime loads of an artifact and of its baseline; null: the checkpoint itself. */
export interface MadeForms {
  readonly form_dir: string | null;
  readonly baseline_form_dir: string | null;
}

/** A call's failure on its way through the cache, which keeps nothing of what failed. */
class CallFailed extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** The outcome of an error that a form's making threw: the call's own, or the disk's. */
export function formFailure(error: unknown, call: string, spans: readonly Span[]) {
  return failed(error instanceof CallFailed ? error.failure : storageFailure(error, call), spans);
}

/** Fills an empty directory with an artifact's form. */
async function fill(
  input: FormInput,
  { location }: FormSource,
  spans: Span[],
  { output_dir, exact }: { output_dir: string; exact: boolean },
): Promise<void> {
  const { runtime } = input;
  const made = await input.runner(input.trial_id, {
    call: "make_form",
    ...namedRuntime(runtime),
    artifact_dir: location,
    output_dir,
    exact,
    ...inPrecision(input),
  }, runtime.form?.environment ?? runtime.needs.environment);
  spans.push(...made.spans);
  if (!made.ok) throw new CallFailed(made.failure);
}

/** A form that is kept for whoever shares it. */
async function kept(input: FormInput, artifact: FormSource, spans: Span[]): Promise<string> {
  const { caches, environmentHash } = input.workshop;
  const key = await formKey(input.runtime, artifact, environmentHash, input.precision);
  const { directory } = await caches.cached(
    "forms",
    key,
    (output_dir) => fill(input, artifact, spans, { output_dir, exact: false }),
  );
  return directory;
}

/** A form that lies in `scratch` under a name. */
export async function passing(
  input: FormInput,
  spans: Span[],
  scratch: string,
  exact: boolean,
): Promise<string> {
  const output_dir = join(scratch, exact ? "exact" : "form");
  await mkdir(output_dir);
  await fill(input, input.artifact, spans, { output_dir, exact });
  return output_dir;
}

/** Both forms; a trial's own is not kept, where no other artifact shares it. */
async function formsOf(input: FormInput, spans: Span[], scratch: string): Promise<MadeForms> {
  const { artifact, baseline, runtime } = input;
  const baseline_form_dir = baseline === null ? null : await kept(input, baseline, spans);
  const alone = baseline !== null && runtime.form?.shared === "artifact";
  const form_dir = alone
    ? await passing(input, spans, scratch, false)
    : await kept(input, artifact, spans);
  return { form_dir, baseline_form_dir };
}

/** Makes what a runtime loads. `scratch`: an empty directory that lives as long. */
export async function makeForms(input: FormInput, scratch: string): Promise<Outcome<MadeForms>> {
  const spans: Span[] = [];
  if (input.runtime.form === null) {
    return { ok: true, value: { form_dir: null, baseline_form_dir: null }, spans };
  }
  try {
    return { ok: true, value: await formsOf(input, spans, scratch), spans };
  } catch (error) {
    return formFailure(error, "make_form", spans);
  }
}

/**
 * The artifact's form with every weight in float32, for the proof: a form that holds no weights is
 * that already.
 */
export async function exactForm(
  input: FormInput,
  form_dir: string,
  { scratch, spans }: { scratch: string; spans: Span[] },
): Promise<string> {
  if (input.runtime.form?.shared === "architecture") return form_dir;
  return await passing(input, spans, scratch, true);
}
