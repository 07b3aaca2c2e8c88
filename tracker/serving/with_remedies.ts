import {
  diagnose,
  diagnosisText,
  nextTry,
  type RetryScope,
  type ServerCommand,
  type ServerFacts,
} from "../../core/mod.ts";
import { type RunningServer, ServerFailed, startServer } from "./serve_model.ts";

/** How a start that fails goes on. */
export interface Retrying {
  /** Null: it does not. */
  readonly scope: RetryScope | null;
  readonly facts: ServerFacts;
  /** Told of each remedy before it is tried, with what is foreseen of it. */
  readonly onTry: (line: string) => void;
  /** What is foreseen of a command, such as by a plan; null: nothing. */
  readonly foresee?: (command: ServerCommand) => Promise<string | null>;
}

const MOST_TRIES = 12;

/** What a failure comes to in words: its diagnosis where its last lines show one. */
export function failureText({ message, last_lines, log }: ServerFailed): string {
  const found = diagnose(log);
  return [
    `${message}.`,
    ...(last_lines === "" ? ["It said nothing."] : ["Its last lines:", last_lines]),
    ...(found === null ? [] : [diagnosisText(found.diagnosis)]),
  ].join("\n");
}

/** Starts a server, by the remedies of what it fails of where that is allowed. */
export async function startWithRemedies(
  root: string,
  command: ServerCommand,
  how: Parameters<typeof startServer>[2],
  { scope, facts, onTry, foresee = () => Promise.resolve(null) }: Retrying,
): Promise<RunningServer> {
  const tried: (readonly string[])[] = [command.args];
  let now = command;
  while (true) {
    try {
      return await startServer(root, now, how);
    } catch (error) {
      if (!(error instanceof ServerFailed) || scope === null) throw error;
      const found = diagnose(error.log);
      const next = found === null ? null : nextTry(found, now.args, facts, { scope, tried });
      if (found === null || next === null || tried.length >= MOST_TRIES) throw error;
      now = { ...now, args: next.args };
      tried.push(next.args);
      const says = await foresee(now);
      onTry(
        `${found.diagnosis.name}: ${found.diagnosis.cause}; trying: ${next.remedy.says} ` +
          `(${changedWords(command.args, next.args)})${says === null ? "" : `; ${says}`}`,
      );
    }
  }
}

/** The words that are not as they were first. */
function changedWords(before: readonly string[], after: readonly string[]): string {
  const flags = (args: readonly string[]) => args.join(" ").split(/ (?=--)/);
  const [was, is] = [flags(before), flags(after)];
  const added = is.filter((flag) => !was.includes(flag));
  const names = new Set(is.map((flag) => flag.split(" ")[0]));
  const gone = was.filter((flag) => !names.has(flag.split(" ")[0]));
  return [...added, ...gone.map((flag) => `without ${flag}`)].join(" ");
}
