import { type StudyRequestInput, UsageError } from "../../../core/mod.ts";
import { readText } from "../../ground/storage/plain_file.ts";
import { parseJson } from "../../lab/data/parse_json.ts";

/** Bytes of a document: one with all of its parts is a few pages. */
const LONGEST = 10_000_000;

/** The document that is named; an empty one where none is. */
export function readDocument(file: string | undefined): Partial<StudyRequestInput> {
  if (file === undefined) return {};
  let text: string;
  try {
    text = readText(file, LONGEST);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const reason = /^ENOENT/.test(why) ? "there is no such file: name a JSON document" : why;
    throw new UsageError(`Cannot read the study ${file}: ${reason}`);
  }
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (error) {
    // The parser quotes the text, which may be anything: one line, and what can be read.
    const reason = String(error instanceof Error ? error.message : error)
      .replace(/[^\x20-\x7e]+/g, " ").slice(0, 160);
    throw new UsageError(`Cannot read the study ${file} as JSON: ${reason}`);
  }
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    throw new UsageError(
      `Cannot take the study ${file}: it must be an object with model_name and dataset`,
    );
  }
  return document as Partial<StudyRequestInput>; // checked by checkStudy
}
