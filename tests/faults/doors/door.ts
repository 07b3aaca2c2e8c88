/** A door: what reads a stranger's file, and a valid file from which the damaged ones are made. */
export interface Door {
  readonly name: string;
  /** The language of the process that reads: its readers go by the door's name. */
  readonly side: "deno" | "python";
  /** Files of a valid input by their names, the one that the reader is given first. */
  readonly files: Readonly<Record<string, Uint8Array | string>>;
  /** Those that are damaged; default: the first. */
  readonly hit?: readonly string[];
  /** So many bytes of the first file are damaged mostly: those that say what the rest is. */
  readonly head?: number;
  /** The reader is given the folder. */
  readonly folder?: true;
  /** A folder of which whatever is not in `files` is part of the input too, by hard links. */
  readonly linked?: string;
}
