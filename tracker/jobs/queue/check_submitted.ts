import { foundAt } from "../../ground/storage/found_at.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { kindOf, type Registry, type RunRequest, UsageError } from "../../../core/mod.ts";
import { fromUser } from "../../../python-backends/home.ts";
import { checkRequest } from "../../lab/check_request.ts";
import { withFoundTasks } from "../../lab/data/find_tasks.ts";
import { type ReadDataset, readDataset } from "../../lab/data/inspect_dataset.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import { modelReads } from "../../lab/model_reads.ts";

/** Names that the set-up makes a model of. */
const MADE = ["tiny", "demo"];

/** Refuses a model that was meant as a path and is none; a name of the hub is left to the study. */
function checkModel(name: string): void {
  if (MADE.includes(name)) return;
  const path = fromUser(name);
  const found = foundAt(path);
  if (found?.isDirectory()) {
    if (existsSync(join(path, "config.json"))) return;
    throw new UsageError(
      `Cannot use ${name} as a model: it has no config.json; give the directory that a ` +
        "checkpoint was saved to",
    );
  }
  if (found !== undefined) {
    if (found.isFile() && path.endsWith(".gguf")) return;
    throw new UsageError(
      `Cannot use ${name} as a model: it is neither a .gguf file nor a directory with config.json`,
    );
  }
  if (/^([/~]|\.{1,2}\/)/.test(name) || name.endsWith(".gguf")) {
    throw new UsageError(`Cannot find the model ${name}: there is no such file or directory`);
  }
}

/** Refuses a plugin's file that is not there; what it holds its study's own process reads. */
function checkPlugin(specifier: string): void {
  if (specifier.startsWith("npm:") || existsSync(specifier)) return;
  throw new UsageError(`Cannot load plugin ${specifier}: there is no such file`);
}

/** The registry with what the dataset names; null: only lm-eval, in a study's own process, can tell. */
async function pluginsFor(request: RunRequest, dataset: ReadDataset): Promise<Registry | null> {
  const needsPython = new Error("lm-eval has to be asked");
  try {
    const refuse = () => Promise.reject(needsPython);
    return await withFoundTasks(request, dataset, await discoverPlugins(), refuse);
  } catch (error) {
    if (error === needsPython) return null;
    throw error;
  }
}

/**
 * Refuses, as `pare run` does, what can be known to be wrong before a study is put in line: its model
 * folder, its dataset file, and names and knobs of the request. Plugins that it brings are loaded by its
 * own process alone, afresh each time: what they say is wrong stands with the study when it ends.
 */
export async function checkSubmitted(request: RunRequest): Promise<void> {
  if (kindOf(request).asks(request).endpoint === undefined) checkModel(request.model_name);
  if (request.student !== undefined) checkModel(request.student);
  request.plugins.forEach(checkPlugin);
  const dataset = await readDataset(request.dataset);
  const plugins = request.plugins.length > 0 ? null : await pluginsFor(request, dataset);
  if (plugins === null) return;
  checkRequest(request, dataset.facts, plugins, await modelReads(request));
}
