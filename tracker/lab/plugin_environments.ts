import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { type Plugin, type Registry, unknownName, UsageError } from "../../core/mod.ts";
import { environmentNames, readPins } from "../../python-backends/environments/environment_pins.ts";

/** Folder of a Python half that holds one folder of pins for each environment of its own. */
const ENVIRONMENTS = "envs";
/** What a folder of pins must hold. */
const FILES = ["environment.json", "requirements.txt"];

/** The folder that is a plugin's own: that of its file, or of the package that `inside` is part of. */
function ownFolder(specifier: string, folder: string, inside: string): string {
  if (!specifier.startsWith("npm:")) {
    return dirname(realpathSync(resolve(folder, specifier)));
  }
  let place = realpathSync(inside);
  while (!existsSync(join(place, "package.json")) && dirname(place) !== place) {
    place = dirname(place);
  }
  return place;
}

/** Refuses pins that a link, or a path of the plugin's, takes from elsewhere. */
function checkInside(name: string, path: string, { own, plugin }: { own: string; plugin: string }) {
  const start = `Cannot use the environment ${name} of the plugin ${plugin}`;
  const real = existsSync(path) ? realpathSync(path) : null;
  if (real === null) throw new UsageError(`${start}: there is no ${path}`);
  if (real.startsWith(own.endsWith(sep) ? own : own + sep)) return;
  throw new UsageError(`${start}: ${path} lies at ${real}, outside the plugin's own folder ${own}`);
}

/**
 * The environments that a third party's plugin brings: folders of pins by name. Refuses, in words,
 * names that are taken or are no names, pins that lie outside the plugin's own folder, and pins that
 * are not exact.
 */
export function pluginEnvironments(
  plugin: Plugin,
  specifier: string,
  folder: string,
): Map<string, string> {
  const found = new Map<string, string>();
  const python_dir = "python_dir" in plugin ? plugin.python_dir : undefined;
  if (python_dir === undefined) return found;
  if (!isAbsolute(python_dir)) {
    throw new UsageError(
      `Cannot load plugin ${specifier} as its python_dir must be an absolute path: it is ${python_dir}`,
    );
  }
  const root = join(python_dir, ENVIRONMENTS);
  if (!existsSync(root)) return found;
  const own = ownFolder(specifier, folder, root);
  for (const name of readdirSync(root).filter((one) => !/^[._]/.test(one)).sort()) {
    checkName(name, specifier);
    const directory = join(root, name);
    for (const file of FILES) {
      checkInside(name, join(directory, file), { own, plugin: specifier });
    }
    readPins(name, directory);
    found.set(name, realpathSync(directory));
  }
  return found;
}

/** It names a folder of the user's cache and a variable: letters of both, and taken only once. */
function checkName(name: string, specifier: string): void {
  const start = `Cannot register environment "${name}" of ${specifier}`;
  if (!/^[a-z][a-z0-9_]{0,40}$/.test(name)) {
    throw new UsageError(`${start} as a name is of small letters, digits and "_"`);
  }
  if (!environmentNames().includes(name)) return;
  throw new UsageError(`${start} as pare has an environment of that name: give it another one`);
}

/** Refuses a method or a runtime whose environment nobody has. */
export function checkEnvironments({ methods, runtimes, environments }: Registry): void {
  const names = [...environmentNames(), ...environments.keys()];
  const asked = [
    ...methods.flatMap(({ method: { name, needs } }) =>
      [needs.environment, needs.tool ?? needs.environment]
        .map((at) => ({ by: `method ${name}`, at }))
    ),
    ...runtimes.flatMap(({ name, needs, form }) =>
      [needs.environment, form?.environment ?? needs.environment]
        .map((at) => ({ by: `runtime ${name}`, at }))
    ),
  ];
  const wrong = asked.find(({ at }) => !names.includes(at));
  if (wrong === undefined) return;
  throw new UsageError(
    `Cannot register ${wrong.by}: ${unknownName("environment", wrong.at, names)}`,
  );
}
