import { join, resolve } from "node:path";
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

const IMPORTED = `
  SELECT study_id, any_value(study_name) AS study_name, any_value(source) AS source,
    count(*) AS runs
  FROM imported_runs GROUP BY study_id ORDER BY min(position)`;

/** `pare studies`: what the store holds, oldest first; what other trackers kept last. */
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
  const imported = await store.query(IMPORTED);
  for (const { study_id, study_name, source, runs } of imported.rows) {
    rows.push([String(study_id), String(study_name), "–", String(runs), `imported from ${source}`]);
  }
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

/** `pare plugins`: everything that is loaded, one line each. */
export async function pluginsCommand(options: { plugin?: string[] }): Promise<void> {
  const registry = await discoverPlugins(options.plugin);
  const rows = [
    ...registry.methods.map((
      { agent, method },
    ) => ["method", `${agent}/${method.name}`, method.summary]),
    ...registry.tasks.map((task) => ["task", task.name, task.summary]),
    ...registry.samplers.map((sampler) => ["sampler", sampler.name, sampler.summary]),
    ...registry.runtimes.map((runtime) => [
      "runtime",
      runtime.name,
      `${runtime.summary}; holds ${runtime.formats}`,
    ]),
  ];
  console.log(textTable(["kind", "name", "what it does"], rows));
}
