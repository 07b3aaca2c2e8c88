import { ensureDemoModel } from "../../../python-backends/demo_model.ts";
import { doctor } from "../../../python-backends/doctor.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { UsageError } from "../../../core/mod.ts";
import { isRoutine } from "../../../python-backends/environments/pip.ts";
import { hasGpu } from "../../../python-backends/environments/torch_wheel.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import { findHome } from "../../ground/home.ts";
import { usualEnvironments } from "../../lab/runner/study_environments.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import { jsonText } from "../../show/json/print_json.ts";

interface PluginOption {
  readonly plugin?: readonly string[];
}

/** What studies need that ask for nothing in particular, and the pins that plugins bring. */
async function askedEnvironments({ plugin = [] }: PluginOption) {
  const registry = await discoverPlugins(plugin);
  const required = usualEnvironments(registry, await hasGpu());
  return { required, pins_folders: registry.environments };
}

/** `pare doctor`: each part of the set-up, what was found, and how to get what is missing. */
export async function doctorCommand(
  options: PluginOption & { readonly json?: boolean } = {},
): Promise<void> {
  const asked = await askedEnvironments(options);
  const checks = await doctor(findHome(Deno.env.toObject()).root, asked);
  if (options.json) {
    const told = checks.map(({ name, ok, required, found, fix }) => ({
      ...{ name, ok, required, found, fix },
    }));
    console.log(jsonText("doctor", told));
  }
  for (const { name, ok, required, found, fix } of options.json ? [] : checks) {
    const state = ok ? "ok" : required ? "missing" : "optional";
    console.log(`${state.padEnd(8)}  ${name.padEnd(28)} ${found}`);
    if (!ok && fix !== null) console.log(`${" ".repeat(39)}→ ${fix}`);
  }
  if (checks.some(({ ok, required }) => !ok && required)) {
    throw new UsageError(
      "the set-up is not complete: `npx -y deno task setup` makes what is missing",
    );
  }
}

/** `pare setup [environment…]`: those that are named; else all of a study, and the demo's model. */
export async function setupCommand(
  names: readonly string[],
  options: PluginOption = {},
): Promise<void> {
  const { required, pins_folders } = await askedEnvironments(options);
  const home = findHome(Deno.env.toObject()).root;
  const view = createLiveView(standardScreen(), () => Date.now());
  for (const name of names.length > 0 ? names : required) {
    const { python } = await ensureEnvironment(name, {
      home,
      pins_directory: pins_folders.get(name),
      onProgress: ({ line, done, total }) => {
        const label = `environment ${name}`;
        const counted = { trial_id: "setup", label, done, total, unit: "packages" };
        view.onEvent({ event: "progress", ...counted });
        if (!isRoutine(line)) view.progressLine(`  ${name}: ${line}`);
      },
    });
    view.say(`environment ${name}: ${python}`);
  }
  if (names.length > 0) return;
  const gguf = await ensureDemoModel(home, { onProgress: view.progressLine });
  view.say(`demo model: ${gguf}`);
}
