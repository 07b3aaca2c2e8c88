import { existsSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { ensureDemoModel } from "../../python-backends/demo_model.ts";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { findHome } from "../../tracker/ground/home.ts";

/**
 * A PARE_HOME whose environments, caches and demo model are the real one's, and whose store and
 * artifacts are a benchmark's own: nothing is found that it should make, but what an earlier run of the
 * same name has left.
 */
export async function benchmarkHome(name: string): Promise<string> {
  const real = findHome(Deno.env.toObject()).root;
  await ensureEnvironment("default");
  await ensureEnvironment("openvino_export");
  await ensureDemoModel(real);
  const home = join(real, "benchmarks", name);
  await mkdir(home, { recursive: true });
  for (const shared of ["envs", "cache", "demo-model"]) {
    await mkdir(join(real, shared), { recursive: true });
    if (existsSync(join(home, shared))) continue; // of an earlier run that goes on here
    await symlink(join(real, shared), join(home, shared));
  }
  return home;
}
