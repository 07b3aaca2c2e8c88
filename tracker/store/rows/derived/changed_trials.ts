import { LIST, listValue, VARCHAR } from "@duckdb/node-api";

/** Trials whose derived rows are to be written anew: all of some studies, and some others. */
export interface ChangedTrials {
  readonly studies: readonly string[];
  readonly trials: readonly string[];
}

/** Texts as a parameter. */
export function listOf(texts: readonly string[]) {
  return { value: listValue([...texts]), type: LIST(VARCHAR) };
}

/** The condition that a table's rows are those trials', with its parameters: one for all studies, as
 * each statement costs milliseconds whatever it finds. */
export function someTrials({ studies, trials }: ChangedTrials) {
  return {
    where: (table: string) =>
      `(${table}.study_id IN (SELECT unnest($studies)) ` +
      `OR ${table}.trial_id IN (SELECT unnest($trials)))`,
    values: { studies: listOf(studies).value, trials: listOf(trials).value },
    types: { studies: listOf(studies).type, trials: listOf(trials).type },
  };
}
