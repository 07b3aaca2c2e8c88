import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { diagnose, DIAGNOSES, diagnosisText, unknownName, UsageError } from "../../../core/mod.ts";
import { requireFile } from "../../ground/storage/plain_file.ts";

/** Of a log, as the end says why. */
const MOST_BYTES = 1 << 20;

/** The end of a file, of which a log that ran for weeks is too large to be read whole. */
function endOf(path: string): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const bytes = new Uint8Array(Math.min(size, MOST_BYTES));
    const read = readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return new TextDecoder().decode(bytes.subarray(0, read));
  } finally {
    closeSync(file);
  }
}

/** `pare diagnose [FILE|NAME]`: what a server's log shows, an answer by its name, or all questions. */
export function diagnoseCommand(of: string | undefined): void {
  if (of === undefined) {
    for (const { name, question } of DIAGNOSES) console.log(`${name.padEnd(27)}${question}`);
    return;
  }
  const named = DIAGNOSES.find(({ name }) => name === of);
  if (named !== undefined) {
    console.log(diagnosisText(named));
    return;
  }
  if (/^[a-z_]+$/.test(of) && !existsSync(of)) {
    throw new UsageError(unknownName("diagnosis", of, DIAGNOSES.map(({ name }) => name)));
  }
  requireFile(of);
  const found = diagnose(endOf(of));
  if (found === null) {
    throw new UsageError(`Cannot say what ${of} shows: none of the known failures stands in it`);
  }
  console.log(`${found.match[0].slice(0, 200)}\n${diagnosisText(found.diagnosis)}`);
}
