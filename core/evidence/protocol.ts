import type { Evaluation } from "../ports.ts";
import { ofTask } from "./quality.ts";
import { pairBySample } from "./statistics.ts";

/** What two evaluations must share to be compared: hashes and parts by task, and the samples. */
export type Protocolled = Pick<Evaluation, "samples" | "protocol" | "protocol_parts">;

/**
 * Why two evaluations may not be compared, with what differs; null where they may. Where one comes
 * from a store that kept no protocol (it is empty), the samples' hashes alone decide.
 */
export function protocolMismatch(reference: Protocolled, other: Protocolled): string | null {
  const known = [reference, other].every(({ protocol }) => Object.keys(protocol).length > 0);
  const tasks = new Set(
    known ? [...Object.keys(reference.protocol), ...Object.keys(other.protocol)] : [],
  );
  for (const task of [...tasks].sort()) {
    if (reference.protocol[task] !== other.protocol[task]) {
      return `Cannot compare ${task} with the baseline as the protocols differ: ` +
        differenceOf(reference, other, task);
    }
  }
  for (const task of new Set(reference.samples.map((sample) => sample.task))) {
    const { unmatched } = pairBySample(ofTask(reference, task), ofTask(other, task));
    if (unmatched > 0) {
      return `Cannot compare ${task} with the baseline as the samples differ: ${unmatched} have no ` +
        "partner";
    }
  }
  return null;
}

/** Names the parts that differ; where a side kept none, as in older stores, the hashes. */
function differenceOf(reference: Protocolled, other: Protocolled, task: string): string {
  const [left, right] = [reference.protocol_parts?.[task], other.protocol_parts?.[task]];
  const names = new Set([...Object.keys(left ?? {}), ...Object.keys(right ?? {})]);
  const differing = left === undefined || right === undefined
    ? []
    : [...names].filter((name) => left[name] !== right[name]);
  const said = (value: string | undefined) => value ?? "missing";
  if (differing.length === 0) {
    return `the baseline's is ${said(reference.protocol[task])}, the trial's ` +
      said(other.protocol[task]);
  }
  return differing.map((name) =>
    `${name} is ${said(left?.[name])} in the baseline and ${said(right?.[name])} in the trial`
  ).join("; ");
}
