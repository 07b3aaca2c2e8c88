import { type JournalRecord as AnyRecord, journalRecord } from "../schemas/journal.ts";
import { StudyRequest } from "./request.ts";

/** A record of the journal, its request as its kind has it; one from before kinds gets its kind here. */
export const JournalRecord = journalRecord(StudyRequest);
export type JournalRecord = AnyRecord;
