/**
 * Every check of the project with its set-up.
 *
 *     deno task test        # both languages' tests
 *     deno task ok          # format, lint, types, then the tests
 *     deno task test:long   # what is slow but matters, and the campaigns of faults
 *     deno task ok --long   # the gate: all of these but the campaigns, the slow ones last
 *     deno task test tests/core tests/tracker/store/sql   # of the tests those whose paths begin so
 *
 * With `--all` the campaigns go their whole length. With `--measure` the seconds of each file are
 * written to tests/run/seconds.json, by which runs are planned: on a machine with nothing else to do.
 * With PARE_RUN_MINUTES the gate begins no slow part later than that, and names what it left out.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { usualEnvironments } from "../../python-backends/environments/environment_pins.ts";
import { budgetLines } from "./budgets.ts";
import { onceMoreAlone } from "./alone.ts";
import { addCounts, closingLines, type Counts } from "./counts.ts";
import {
  type Asked,
  docExamples,
  filesBelow,
  longJobs,
  shortJobs,
  staticChecks,
  types,
} from "./jobs.ts";
import { failureLines } from "./failures.ts";
import { endAll } from "./in_group.ts";
import { type Ended, type Job, longestFirst, runInLanes } from "./lanes.ts";
import { begunWithin, inTurn, minutesOfRun, secondsLeft } from "./limit.ts";
import { denoSeconds, pytestSeconds, type Seconds, writeSeconds } from "./seconds.ts";
import { setUp } from "./set_up.ts";
import { inTemporaryFolder } from "./temporary.ts";

const MODES = ["test", "ok", "long"] as const;
/** Made on request alone: the gate has the tests that need them run. */
const OF_THE_GATE = ["openvino_genai", "kvpress"];
/** The same, where it can be had: its tests say why they are left out elsewhere. */
const WHERE_IT_CAN_BE = ["ray", "ik_llama_cpp"];
/** What is run: a word of the command, or all, which is the gate. */
type Mode = typeof MODES[number] | "gate";

async function jobsOf(mode: Mode, { below, measure }: Pick<Asked, "below" | "measure">) {
  const [more, wished] = mode === "gate" ? [OF_THE_GATE, WHERE_IT_CAN_BE] : [[], []];
  const steps = setUp([...usualEnvironments(), ...more, ...wished], wished);
  const asked: Asked = { steps, below, measure };
  if (mode === "long") {
    return longestFirst(await longJobs(asked, ["tests/long", "tests/campaigns"]));
  }
  const short = await shortJobs(asked);
  const long = mode === "gate" ? slowLast(await longJobs(asked, ["tests/long"])) : [];
  if (below.length > 0) return [...longestFirst(short), ...long];
  const checks = mode === "test" ? [types()] : [types(), ...staticChecks(asked)];
  return [...longestFirst([...checks, docExamples(), ...short]), ...long];
}

/** Of the gate, whose machine may have a limit. */
function slowLast(long: readonly Job[]): Job[] {
  const minutes = minutesOfRun();
  return minutes === null ? longestFirst(long) : inTurn(begunWithin(long, 60 * minutes));
}

/** No lane more than cores: the tests of timings would measure each other. */
async function run(mode: Mode, below: readonly string[], measure: boolean): Promise<Counts> {
  const started = performance.now();
  const lanes = Math.max(2, Math.min(availableParallelism(), 4));
  const jobs = await jobsOf(mode, { below, measure });
  const first: Ended[] = [];
  const say = (one: Ended) =>
    console.log(`${one.output.trimEnd()}\n[${one.seconds.toFixed(0)} s]\n`);
  await runInLanes(jobs, lanes, (one) => {
    first.push(one);
    say(one);
  });
  const { ended, unsteady } = mode === "gate"
    ? await onceMoreAlone(jobs, first, say, secondsLeft())
    : { ended: first, unsteady: [] };
  const seconds = (performance.now() - started) / 1000;
  const lines = [...budgetLines(mode, jobs, ended, seconds), "", ...unsteady];
  console.log([...lines, ...failureLines(ended)].join("\n"));
  if (measure) await keepSeconds(ended);
  return addCounts(ended.map(({ counts }) => counts));
}

async function keepSeconds(ended: readonly Ended[]): Promise<void> {
  const measured: Seconds = Object.assign(
    {},
    ...ended.flatMap(({ output }) => [denoSeconds(output), pytestSeconds(output)]),
  );
  await writeSeconds(measured, [
    ...await filesBelow("tests", ".ts"),
    ...await filesBelow("tests", ".py"),
  ]);
}

if (import.meta.main) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => void endAll());
  }
  const [asked = "test", ...words] = Deno.args;
  const whole = asked === "ok" && words.includes("--long");
  const mode = whole ? "gate" : MODES.find((one) => one === asked);
  if (mode === undefined) {
    console.error(`Cannot run "${asked}": say ${MODES.join(", ")}`);
    process.exit(2);
  }
  if (words.includes("--all")) Deno.env.set("PARE_TEST_ALL", "1"); // every job is a process of this one
  const below = words.filter((word) => !word.startsWith("--"));
  const measure = words.includes("--measure");
  const counts = await inTemporaryFolder(() => run(mode, below, measure));
  console.log(`\n${closingLines(counts).join("\n")}`);
  const { passed, failed } = counts;
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
