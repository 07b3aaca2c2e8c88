/** What a remedy may rest on, beside the words of the command. */
export interface ServerFacts {
  /** NVIDIA's cards of this machine. */
  readonly cards: number;
  /** The parser of tool calls of the model's family, as the server names it; null: not known. */
  readonly tool_call_parser: string | null;
}

/** Something to do about it. */
export interface ServerRemedy {
  /** As an order: what to do. */
  readonly says: string;
  /** Whether the model says something else afterwards, if only a little. */
  readonly changes_answers?: boolean;
  /**
   * The server's words with it done; null: nothing is left to change. Absent: only a person can do it.
   * `match` is what the pattern found.
   */
  readonly change?: (
    args: readonly string[],
    facts: ServerFacts,
    match: RegExpMatchArray,
  ) => string[] | null;
}

/** A question that people ask of served models, with its answer. */
export interface Diagnosis {
  readonly name: string;
  readonly question: string;
  /** What a log says then; null: no log shows it. */
  readonly pattern: RegExp | null;
  readonly cause: string;
  /** The first to be tried first. */
  readonly remedies: readonly ServerRemedy[];
  /** Advice that is often given and no longer right, with the reason. */
  readonly outdated?: string;
}

/** A diagnosis that a log shows. */
export interface Found {
  readonly diagnosis: Diagnosis;
  readonly match: RegExpMatchArray;
}
