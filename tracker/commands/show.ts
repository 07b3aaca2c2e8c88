import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { UsageError } from "../../core/mod.ts";
import { discoverPlugins } from "../discover.ts";
import { findHome } from "../home.ts";
import { openLab } from "../lab.ts";
import { writeOutputs } from "../reports_of_study.ts";
import { openStore } from "../store/store.ts";
import { textTable } from "../terminal/table.ts";
import { trialTable } from "../terminal/trial_table.ts";

interface StoreOption {
  store?: string;
}

/** `pare studies`: what the store holds, oldest first. */
export async function studiesCommand(options: StoreOption): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const rows = (await store.studies()).map((study) => [
    study.study_id,
    study.model_name,
    study.dataset,
    String(study.trials),
    study.stop ?? "running or interrupted",
  ]);
  console.log(textTable(["study", "model", "dataset", "trials", "ended by"], rows));
}

/** `pare report`: the table, and the report's files written again. */
export async function reportCommand(
  study: string | undefined,
  options: StoreOption & { output?: string },
): Promise<void> {
  await using lab = await openLab(options.store === undefined ? {} : { store: options.store });
  const view = await lab.view(study);
  const files = await writeOutputs(
    view,
    resolve(options.output ?? join(lab.home.studies, view.study_id)),
  );
  console.log(trialTable(view.rows, view.recommended));
  for (const file of [files.png, files.html, files.markdown, files.results]) console.log(file);
}

/** `pare log`: what the workers of a trial wrote, stage by stage. */
export async function logCommand(trial: string, options: StoreOption): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const study = trial.split("/").slice(0, -1).join("/");
  if (study === "") {
    throw new UsageError(`Cannot find the log of "${trial}": write it as STUDY/t01`);
  }
  const sample = store.logPath(study, trial, "stage");
  const prefix = basename(sample).replace(/stage\.log$/, "");
  const files = await readdir(dirname(sample)).catch(() => [] as string[]);
  const own = files.filter((file) => file.startsWith(prefix)).sort();
  if (own.length === 0) {
    throw new UsageError(`Cannot find the log of "${trial}": \`pare studies\` lists what there is`);
  }
  for (const file of own) {
    console.log(`── ${file.slice(prefix.length).replace(/\.log$/, "")}`);
    console.log((await readFile(join(dirname(sample), file), "utf8")).trimEnd());
  }
}

/** `pare plugins`: everything that is loaded, one line each. */
export async function pluginsCommand(options: { plugin?: string[] }): Promise<void> {
  const registry = await discoverPlugins(options.plugin);
  const rows = [
    ...registry.methods.map((
      { agent, method },
    ) => ["method", `${agent}/${method.name}`, method.summary]),
    ...registry.tasks.map((task) => ["task", task.name, task.summary]),
    ...registry.samplers.map((sampler) => ["sampler", sampler.name, sampler.summary]),
    ...registry.runtimes.map((runtime) => ["runtime", runtime.name, runtime.summary]),
  ];
  console.log(textTable(["kind", "name", "what it does"], rows));
}
