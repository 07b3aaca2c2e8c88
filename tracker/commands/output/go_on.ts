import { withoutCredentials } from "../../exchange/mlflow/client/connection.ts";

/** Words as a shell takes them, which may be recorded: no credential is among them. */
function commandOf(words: readonly string[]): string {
  const safe = words.map((word) => /^[\w./:=,@%+-]+$/.test(word) ? word : JSON.stringify(word));
  return withoutCredentials(`npx -y deno task pare ${safe.join(" ")}`);
}

/** This process's own command: for some, the same again goes on. */
export function commandLine(): string {
  return commandOf(Deno.args);
}

/** A command with those of its options that have a value. */
export function goOnBy(
  words: readonly string[],
  options: Readonly<Record<string, string | undefined>>,
): string {
  const given = Object.entries(options).flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, value]
  );
  return commandOf([...words, ...given]);
}

/** Options that a study does not keep, and that its next run needs to go on in the same way. */
export interface KeptOptions {
  store?: string;
  engine?: string;
  engines?: string;
  workers?: string;
  maxDisk?: string;
  output?: string;
  mlflow?: string;
  caches?: string;
}

/** The command that goes on with a study as it was run. */
export function resumeLine(
  study_id: string,
  { store, engine, engines, workers, maxDisk, output, mlflow, caches }: KeptOptions,
): string {
  return goOnBy(["resume", study_id], {
    ...{ "--store": store, "--engine": engine, "--engines": engines, "--workers": workers },
    ...{ "--max-disk": maxDisk, "--output": output, "--mlflow": mlflow, "--caches": caches },
  });
}
