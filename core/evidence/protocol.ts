import type { Evaluation } from "../ports.ts";
import { ofTask } from "./quality.ts";
import { pairBySample } from "./statistics.ts";

/** What two evaluations must share to be compared: hashes and parts by task, and the samples. */
export type Protocolled = Pick<Evaluation, "samples" | "protocol" | "protocol_parts">;

/** What a sentence calls the two. */
export interface ComparedNames {
  readonly reference: string;
  readonly other: string;
}

const TRIAL_AND_BASELINE: ComparedNames = { reference: "the baseline", other: "the trial" };

/**
 * Why two evaluations may not be compared, with what differs; null where they may. Where one comes
 * from a store that kept no protocol (it is empty), the samples' hashes alone decide.
 */
export function protocolMismatch(
  reference: Protocolled,
  other: Protocolled,
  names: ComparedNames = TRIAL_AND_BASELINE,
): string | null {
  const known = [reference, other].every(({ protocol }) => Object.keys(protocol).length > 0);
  const tasks = new Set(
    known ? [...Object.keys(reference.protocol), ...Object.keys(other.protocol)] : [],
  );
  for (const task of [...tasks].sort()) {
    if (reference.protocol[task] !== other.protocol[task]) {
      return `Cannot compare ${task} with ${names.reference} as the protocols differ: ` +
        differenceOf(reference, other, task, names);
    }
  }
  for (const task of new Set(reference.samples.map((sample) => sample.task))) {
    const { unmatched } = pairBySample(ofTask(reference, task), ofTask(other, task));
    if (unmatched > 0) {
      return `Cannot compare ${task} with ${names.reference} as the samples differ: ${unmatched} ` +
        "have no partner";
    }
  }
  return null;
}

/** Names the parts that differ; where a side kept none, as in older stores, the hashes. */
function differenceOf(
  reference: Protocolled,
  other: Protocolled,
  task: string,
  called: ComparedNames,
): string {
  const [left, right] = [reference.protocol_parts?.[task], other.protocol_parts?.[task]];
  const names = new Set([...Object.keys(left ?? {}), ...Object.keys(right ?? {})]);
  const differing = left === undefined || right === undefined
    ? []
    : [...names].filter((name) => left[name] !== right[name]);
  const said = (value: string | undefined) => value ?? "missing";
  if (differing.length === 0) {
    return `${called.reference}'s is ${said(reference.protocol[task])}, ${called.other}'s ` +
      said(other.protocol[task]);
  }
  return differing.map((name) =>
    `${name} is ${said(left?.[name])} in ${called.reference} and ${said(right?.[name])} in ` +
    called.other
  ).join("; ");
}
