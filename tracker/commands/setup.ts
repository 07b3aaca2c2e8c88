import { STUDY_ENVIRONMENTS } from "../../python-backends/environments/environment_pins.ts";
import { ensureDemoModel } from "../../python-backends/demo_model.ts";
import { doctor } from "../../python-backends/doctor.ts";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { UsageError } from "../../core/mod.ts";
import { findHome } from "../home.ts";
import { createLiveView, standardScreen } from "../terminal/live_view.ts";

/** `pare doctor`: each part of the set-up, what was found, and how to get what is missing. */
export async function doctorCommand(): Promise<void> {
  const checks = await doctor(findHome(Deno.env.toObject()).root);
  for (const { name, ok, required, found, fix } of checks) {
    const state = ok ? "ok" : required ? "missing" : "optional";
    console.log(`${state.padEnd(8)}  ${name.padEnd(28)} ${found}`);
    if (!ok && fix !== null) console.log(`${" ".repeat(39)}→ ${fix}`);
  }
  if (checks.some(({ ok, required }) => !ok && required)) {
    throw new UsageError("the set-up is not complete: `deno task setup` makes what is missing");
  }
}

/** `pare setup [environment…]`: those that are named; else every one of the demo, and its model. */
export async function setupCommand(names: readonly string[]): Promise<void> {
  const home = findHome(Deno.env.toObject()).root;
  const view = createLiveView(standardScreen(), () => Date.now());
  for (const name of names.length > 0 ? names : STUDY_ENVIRONMENTS) {
    const { python } = await ensureEnvironment(name, {
      home,
      onProgress: ({ line }) => view.progressLine(`  ${name}: ${line}`),
    });
    view.say(`environment ${name}: ${python}`);
  }
  if (names.length > 0) return;
  const gguf = await ensureDemoModel(home, { onProgress: view.progressLine });
  view.say(`demo model: ${gguf}`);
}
