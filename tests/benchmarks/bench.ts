/**
 * Measures pare beside its peers, in one run; prints a table.
 *
 *     deno task bench                   # runs the demo, then the same calls in a bare script
 *     deno task bench --study ID        # takes a finished study of the store
 *     deno task bench --quick           # the tiny model: tries the benchmark itself
 *     deno task bench --keep            # leaves the demo's folder, for --study
 */
import { parseArgs } from "node:util";
import process from "node:process";
import { UsageError } from "../../core/mod.ts";
import { findHome } from "../../tracker/ground/home.ts";
import { bareRequest } from "./bare_request.ts";
import { type BenchRow, benchTable } from "./bench_table.ts";
import { type MeasuredStudy, readStudy, withDemo } from "./measured_study.ts";
import { type BareRun, runBare } from "./run_bare.ts";
import { firstEventRow, helpRow } from "./short_times.ts";
import { accountOf } from "./span_account.ts";
import { answersTable, partsText, rooflineRows, timeRows } from "./study_rows.ts";

interface Measured {
  readonly rows: readonly BenchRow[];
  /** Below the table. */
  readonly notes: readonly string[];
}

const say = (text: string) => console.error(`bench: ${text}`);

/** The bare script's run of a study; a sentence where there is none. */
async function bareRun(study: MeasuredStudy): Promise<BareRun | string> {
  const request = await bareRequest(study);
  if (typeof request === "string") return request;
  say(`the same work in one bare script: ${request.trials.length} trials`);
  try {
    return await runBare(request);
  } catch (error) {
    return error instanceof Error ? error.message : String(error); // the rest is still worth printing
  }
}

/** Everything that a study tells, and the bare script's run of the same work. */
async function measureStudy(study: MeasuredStudy): Promise<Measured> {
  const { view, records } = study;
  const account = accountOf(records, view.trials);
  const bare = await bareRun(study);
  return {
    rows: [
      ...timeRows(study, account, typeof bare === "string" ? null : bare),
      ...rooflineRows(view),
    ],
    notes: [
      partsText(account),
      typeof bare === "string"
        ? `No bare script: ${bare}`
        : `Both sides' answers:\n${answersTable(view, bare.result)}`,
      ...(view.recommended === null ? ["No trial of this study is recommended"] : []),
    ],
  };
}

interface Choice {
  readonly study?: string;
  readonly store?: string;
  readonly quick: boolean;
  readonly keep: boolean;
}

async function studyOf(options: Choice): Promise<Measured> {
  if (options.study === undefined) return await withDemo(options, measureStudy);
  const home = findHome(Deno.env.toObject(), options.store);
  const study = await readStudy(home, options.study);
  return await measureStudy({ ...study, command_seconds: null, load: null });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      study: { type: "string" },
      store: { type: "string" },
      quick: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
    },
  });
  if (values.quick && values.study !== undefined) {
    throw new UsageError("Cannot take both --quick and --study: one of them names the study");
  }
  say("pare --help");
  const help = await helpRow();
  say("the first event of a worker");
  const event = await firstEventRow();
  say(values.study === undefined ? "the study" : `the study ${values.study}`);
  const { rows, notes } = await studyOf(values);
  console.log(`\n${benchTable([help, event, ...rows])}\n`);
  for (const note of notes) console.log(`${note}\n`);
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`bench: ${error.message}`);
    process.exitCode = 2;
  }
}
