import { checkFolder } from "../../ground/filled_folder.ts";
import { mkdirSync, rmSync } from "node:fs";
import {
  type CallRequest,
  type CallResult,
  type ConversionFacts,
  conversionProblems,
  type Outcome,
  UsageError,
} from "../../../core/mod.ts";
import { type BackendClient, createBackendClient } from "../../../python-backends/client.ts";
import { findEnvironment } from "../../../python-backends/environments/environments.ts";
import { checkHome, findHome } from "../../ground/home.ts";
import { Stopped } from "../../ground/terminal/interrupt.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import { partialOf, putFolder } from "../../ground/storage/whole_folder.ts";
import { convertSource } from "../../exchange/conversion/convert_source.ts";
import { conversionSummary } from "../../exchange/conversion/conversion_summary.ts";
import { CONVERSION_ENVIRONMENT, PROGRAM_ENVIRONMENT } from "../../exchange/conversion/formats.ts";
import { refusal } from "../../lab/runner/call_runner.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Makes the folder that is written; where it may not be, the sentence says why. */
function makeFolder(directory: string, partial: string): void {
  try {
    mkdirSync(partial, { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") throw error;
    throw new UsageError(`Cannot convert to ${directory}: ${(error as Error).message}`);
  }
}

async function run<R extends CallRequest & { format: string }>(
  client: BackendClient,
  request: R,
): Promise<CallResult<R["call"]>> {
  const outcome: Outcome<CallResult<R["call"]>> = await client.run(request, {
    environment: CONVERSION_ENVIRONMENT[request.format] ?? "default",
  });
  if (outcome.ok) return outcome.value;
  throw refusal(outcome.failure);
}

/** `pare convert TRIAL DIR --to FORMAT`: a trial as files that other libraries load, proved. */
export async function convertCommand(
  name: string,
  folder: string,
  options: { store?: string; to: string },
): Promise<void> {
  const directory = outsideStores(folder, "convert to");
  checkFolder(directory, "convert to");
  const home = findHome(Deno.env.toObject(), options.store);
  await checkHome({ ...home, store: home.root }, false);
  using source = await convertSource(home, name);
  const { artifact_dir } = source;
  const stop = new AbortController();
  const abort = () => stop.signal.aborted ? Deno.exit(130) : stop.abort();
  for (const signal of SIGNALS) Deno.addSignalListener(signal, abort);
  const client = createBackendClient({ home: home.root, nursery: false, signal: stop.signal });
  const partial = partialOf(directory);
  makeFolder(directory, partial);
  try {
    const format = options.to;
    const made = await run(client, {
      call: "convert",
      format,
      artifact_dir,
      output_dir: partial,
    });
    const facts = await run(client, {
      ...{ call: "check_conversion", format, artifact_dir, files_dir: partial },
      ...await toolOf(format, home.root),
    });
    refuseBroken(source.name, format, facts);
    await putFolder(partial, directory);
    console.log(`${source.name} as ${format} in ${directory}`);
    for (const line of conversionSummary(facts, made.size_bytes)) console.log(line);
    for (const note of made.notes) console.log(`note: ${note}`);
  } catch (error) {
    throw stop.signal.aborted ? new Stopped(`Stopped: ${directory} is not written`) : error;
  } finally {
    await client.close();
    rmSync(partial, { recursive: true, force: true });
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, abort);
  }
}

/** The interpreter that runs the program which such files are for, where it is set up. */
async function toolOf(format: string, home: string): Promise<{ tool_python?: string }> {
  const name = PROGRAM_ENVIRONMENT[format];
  const found = name === undefined ? null : await findEnvironment(name, home);
  return found === null ? {} : { tool_python: found.python };
}

function refuseBroken(name: string, format: string, facts: ConversionFacts): void {
  const problems = conversionProblems(facts);
  if (problems.length === 0) return;
  const more = problems.length > 5 ? `\n… and ${problems.length - 5} more` : "";
  throw new UsageError(
    `Cannot hand on ${name} as ${format} as what was read back is not what was written:\n` +
      problems.slice(0, 5).map((problem) => `  ${problem}`).join("\n") + more,
  );
}
