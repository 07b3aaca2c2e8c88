/**
 * Machine minutes to 95 % of the final hypervolume, with rungs, gates and evaluation until decided,
 * against every trial in full. A study is run in full, by the usual sampler, and goes on where it was
 * stopped: its recipes, each sample's answer and seconds, and what each process takes beside them are
 * recorded. Then the same recipes are replayed on that record by the loop itself, in the order in which
 * they were run and in drawn ones: what each way reads, skips and stops is decided as in a real study,
 * and its minutes are the sum of what it read. Compression and evaluation count; timing is told apart.
 * The same is replayed on larger benchmarks, of which the recorded samples are typical: each is there five
 * and 25 times.
 *
 *     deno task bench:cost            # the demo's model: about 35 minutes, then 3 of replaying
 *     deno task bench:cost --both     # also really runs the last way but one, 20 minutes more
 *     deno task bench:cost --quick    # the tiny model: tries the benchmark itself
 *     deno task bench:cost --page     # measures nothing: the page's table of what is kept
 *     deno task bench:cost --fresh    # forgets what an earlier run measured
 */
import { execa } from "execa";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  heldMethods,
  isDecisive,
  type JournalRecord,
  type StudyRequestInput,
} from "../../../core/mod.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { readSamples } from "../../../tracker/store/rows/sample_file.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { benchmarkHome } from "../benchmark_home.ts";
import { say } from "../cells/run_cells.ts";
import { withTable } from "../cells/kept_tables.ts";
import { keptStudyOf, type Place } from "../kept_study.ts";
import {
  type CostRow,
  costRow,
  costTable,
  KeptCost,
  type Measured,
  secondsTo,
  SHARE,
} from "./cost_rows.ts";
import { type RecordedStudy, recordedStudy, repeatedStudy } from "./recorded_study.ts";
import {
  hypervolumeOf,
  type Known,
  type Replayed,
  replayWay,
  type Step,
  WAYS,
  waysOf,
} from "./replay_way.ts";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const KEPT = file("./cost.json");
const PAGE = file("../../../docs/measurements/deciding.md");

/** Recipes and orders in which they are replayed; the first is that in which they were run. */
const SIZE = { demo: { trials: 20, orders: 21 }, tiny: { trials: 8, orders: 3 } };
/** Those that take seconds: what is compared is evaluating. */
const METHODS = ["rtn", "gptq", "int8", "hqq", "nf4", "fp", "magnitude"];

/** What the recorded study asks; one that is really run by another way gives its recipes. */
function requestOf(model: Place["model"], trials: number): StudyRequestInput {
  return {
    ...{ model_name: model, dataset: model, fidelity: "full", methods: METHODS },
    ...{ front: ["accuracy", "size_bytes"], earlier_studies: false },
    ...{ max_trials: trials, max_full_evaluations: 4 * trials, convergence_episodes: 10 * trials },
  };
}

async function readStore(
  root: string,
): Promise<{ records: JournalRecord[]; study: RecordedStudy }> {
  await using store = await openStore(root, { write: false });
  const [{ study_id } = { study_id: "" }] = await store.studies();
  const records = await store.journalOf(study_id);
  const study = await recordedStudy(records, study_id, async (trial_id) => {
    const written = records.findLast((one) =>
      one.type === "samples_written" && one.trial_id === trial_id && isDecisive(one.fidelity)
    );
    if (written?.type !== "samples_written") return null;
    return await readSamples(join(store.paths.root, written.path), written.sha256);
  });
  return { records, study };
}

/** How a study that was really run came on: what its stages took, at every trial's end. */
function stepsOf(records: readonly JournalRecord[]): Step[] {
  const { spec, facts } = records.find((one) => one.type === "study_opened")!;
  // What a run that was stopped had begun was run again by the one that went on.
  const closed = records.filter((one) => one.type === "trial_closed")
    .filter(({ trial }) => trial.state !== "cancelled");
  return closed.map((_, i): Step => {
    const trials = closed.slice(0, i + 1).map(({ trial }) => trial);
    const spans = trials.flatMap(({ spans }) => spans);
    const secondsOf = (some: typeof spans) => some.reduce((sum, { seconds }) => sum + seconds, 0);
    const timing = secondsOf(spans.filter(({ phase }) => phase === "speed"));
    // The loop's own time is of no phase, and next to nothing.
    const work = secondsOf(spans.filter(({ phase }) => phase !== undefined)) - timing;
    return { work, timing, hypervolume: hypervolumeOf(trials, spec, facts) };
  });
}

function measuredOf(way: string, steps: readonly Step[], goal: number): Measured {
  const seconds = secondsTo(steps, goal);
  return {
    way,
    minutes: seconds === null ? null : seconds / 60,
    whole: steps.at(-1)!.work / 60,
  };
}

async function known({ opened: { spec } }: RecordedStudy): Promise<Known> {
  const registry = await discoverPlugins();
  return {
    methods: heldMethods(registry.methods, registry.runtime(spec.runtime)),
    plugins: registry,
  };
}

/** Samples of a benchmark beside those recorded: each of them so often. */
const TIMES = [1, 5, 25];

/** Every way in every order, on benchmarks of more and more samples. */
async function replays(recorded: RecordedStudy, orders: number): Promise<CostRow[]> {
  const of = await known(recorded);
  const rows: CostRow[] = [];
  for (const times of TIMES) {
    const study = repeatedStudy(recorded, times);
    const benchmark = study.baseline.evaluation.samples.length;
    let first: Replayed[] | null = null;
    for (const way of waysOf(study)) {
      const own: Replayed[] = [];
      for (let order = 0; order < orders; order++) own.push(await replayWay(study, way, order, of));
      say(`replayed: ${benchmark} samples, ${way.name}, ${orders} orders`);
      rows.push(costRow({ way: way.name, benchmark, times }, own, first ??= own));
    }
  }
  return rows;
}

async function writePage(kept: KeptCost): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  await writeFile(PAGE, withTable(page, "cost", costTable(kept)));
  await execa(Deno.execPath(), ["fmt", "--quiet", PAGE]);
}

async function main(): Promise<void> {
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    options: { quick: flag, page: flag, fresh: flag, both: flag, orders: { type: "string" } },
  });
  if (values.page) return await writePage(KeptCost.parse(JSON.parse(await readFile(KEPT, "utf8"))));
  const model = values.quick ? "tiny" : "demo";
  const { trials, orders } = { ...SIZE[model], ...ordersOf(values.orders) };
  const name = values.quick ? "cost-quick" : "cost";
  // Each way has a home of its own, or one would find the other's answers and artifacts.
  const homes = [await benchmarkHome(name), await benchmarkHome(`${name}-rungs`)] as const;
  if (values.fresh) {
    const made = homes.flatMap((home) =>
      ["study", "artifacts", "answers"].map((one) => join(home, one))
    );
    for (const path of made) await rm(path, { recursive: true, force: true });
  }
  const request = requestOf(model, trials);
  const root = await keptStudyOf({ home: homes[0], model }, "study", request);
  const { records, study } = await readStore(root);
  const steps = stepsOf(records);
  const goal = SHARE * steps.at(-1)!.hypervolume;
  const measured = [measuredOf(WAYS[0]!.name, steps, goal)];
  if (values.both) {
    const { name: way, asked } = WAYS[2]!;
    const { fidelity: _, ...own } = request;
    const strategies = study.trials.map(({ actions }) => ({ actions: [...actions] }));
    const again = await keptStudyOf({ home: homes[1], model }, "study", {
      ...{ ...own, ...asked, strategies, rules: [], max_trials: strategies.length },
    } as StudyRequestInput); // both are of a search
    measured.push(measuredOf(way, stepsOf((await readStore(again)).records), goal));
  }
  const kept = KeptCost.parse({
    ...{ model, dataset: study.opened.request.dataset, cores: navigator.hardwareConcurrency },
    ...{ trials: study.trials.length, orders, measured, rows: await replays(study, orders) },
  });
  console.log(costTable(kept));
  if (values.quick) return;
  await writeFile(KEPT, `${JSON.stringify(kept, null, 2)}\n`);
  await writePage(kept);
}

function ordersOf(text: string | undefined): { orders?: number } {
  if (text === undefined) return {};
  const orders = Number(text);
  if (Number.isSafeInteger(orders) && orders > 0) return { orders };
  console.error(`Cannot replay ${text} orders: say a whole number from 1`);
  Deno.exit(2);
}

if (import.meta.main) await main();
