/**
 * JupyterLab on the notebooks, with the Deno kernel, from pinned packages:
 *
 *     deno task notebook                 # opens a browser
 *     deno task notebook --no-browser    # says the address; any other word is JupyterLab's own
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { checkHome, findHome, PROJECT_ROOT } from "../../ground/home.ts";
import { writeKernelSpec } from "./kernel_spec.ts";

/**
 * The words of a JupyterLab that this machine alone reaches, by the token that it makes; what the user
 * says comes last, and counts. Nothing is fetched or asked on its start, and Ctrl-C ends it.
 */
export function labWords(
  asked: readonly string[],
  uid: number | null,
  settings: string,
): string[] {
  return [
    ...["-m", "jupyterlab", "--ServerApp.ip=127.0.0.1"],
    `--LabApp.app_settings_dir=${settings}`,
    `--ServerApp.root_dir=${join(PROJECT_ROOT, "notebooks")}`,
    ...["--ServerApp.answer_yes=True", "--LabApp.news_url=None"],
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ...["--LabApp.extension_manager=readonly", "--log-level=WARN"],
    "--MultiKernelManager.default_kernel_name=deno",
    ...(uid === 0 ? ["--allow-root"] : []), // it refuses root otherwise, which a container is
    ...asked,
  ];
}

/** What the page does unless its reader sets it otherwise: it asks about no news and fetches none. */
const SETTINGS = {
  "@jupyterlab/apputils-extension:notification": { fetchNews: "false", checkForUpdates: false },
};

/** Writes the settings into a folder; where it lies. */
export async function writeSettings(folder: string): Promise<string> {
  const settings = join(folder, "settings");
  await mkdir(settings, { recursive: true });
  await writeFile(join(settings, "overrides.json"), `${JSON.stringify(SETTINGS, null, 2)}\n`);
  return settings;
}

/** Where Jupyter finds kernels: ours before the user's own. */
export function labVariables(
  folder: string,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const also = env["JUPYTER_PATH"] ? [env["JUPYTER_PATH"]] : [];
  const separator = Deno.build.os === "windows" ? ";" : ":";
  return {
    JUPYTER_PATH: [folder, ...also].join(separator),
    PYTHONNOUSERSITE: "1",
  };
}

/** Runs JupyterLab until it is ended; its exit code. */
async function runJupyterLab(asked: readonly string[]): Promise<number> {
  const home = findHome(Deno.env.toObject());
  await checkHome(home, true);
  const { python } = await ensureEnvironment("notebook", {
    home: home.root,
    onProgress: ({ line, done, total }) => {
      if (/^(making|importing|ready|another)/.test(line)) console.error(`JupyterLab: ${line}`);
      else if (done % 20 === 0 && line.startsWith("Collecting")) {
        console.error(`JupyterLab: ${done} of ${total} packages`);
      }
    },
  });
  const folder = join(home.root, "jupyter");
  await writeKernelSpec(folder);
  const settings = await writeSettings(folder);
  const child = new Deno.Command(python, {
    args: labWords(asked, Deno.uid(), settings),
    env: labVariables(folder, Deno.env.toObject()),
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  // A terminal's Ctrl-C reaches the child by itself: it ends its kernels, then itself, and we after it.
  Deno.addSignalListener("SIGINT", () => {});
  if (Deno.build.os !== "windows") {
    for (const signal of ["SIGTERM", "SIGHUP"] as const) {
      Deno.addSignalListener(signal, () => child.kill("SIGTERM"));
    }
  }
  return (await child.status).code;
}

if (import.meta.main) {
  try {
    Deno.exit(await runJupyterLab(Deno.args));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`pare: ${error.message}`);
    Deno.exit(2);
  }
}
