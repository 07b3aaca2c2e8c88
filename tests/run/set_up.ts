/** Makes what is missing beside the jobs that need none of it: it waits for the network mostly. */
import process from "node:process";
import { createBackendClient } from "../../python-backends/client.ts";
import { ensureDemoModel } from "../../python-backends/demo_model.ts";
import {
  ensureEnvironment,
  overrideVariable,
} from "../../python-backends/environments/environments.ts";
import { trainedTinyModel } from "../tiny_model.ts";
import { MODELS } from "./needs.ts";

/** As many at once: one unpacks while another one waits for its packages. */
const AT_ONCE = 2;
/** Those that most jobs wait for. */
const FIRST = ["default", "checks", "openvino_export", "llama_cpp", "mlflow"];

/** Promises of what will be there, by name. Nothing is thrown but by them; one of `wished` that cannot be
 * made is told, and holds up nothing. */
export function setUp(
  environments: readonly string[],
  wished: readonly string[] = [],
): Map<string, Promise<void>> {
  const place = (name: string) => FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length;
  const waiting = environments.toSorted((a, b) => place(a) - place(b)).map((name) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {}); // the jobs that need it say so
    const refuse = (error: unknown) => {
      if (!wished.includes(name)) return reject(error);
      console.error(`${name}: cannot be made, so that tests of it are left out: ${error}`);
      resolve();
    };
    return { name, promise, resolve, refuse };
  });
  const steps = new Map(waiting.map(({ name, promise }) => [name, promise]));
  const models = steps.get("default")!.then(makeModels);
  models.catch(() => {});
  steps.set(MODELS, models);
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await makeEnvironment(next.name).then(next.resolve, next.refuse);
    }
  };
  for (let n = 0; n < AT_ONCE; n++) void worker();
  return steps;
}

/** When all of these are there; throws with the first that cannot be. */
export function allOf(
  steps: ReadonlyMap<string, Promise<void>>,
  needs: readonly string[],
): Promise<unknown> {
  return Promise.all(needs.map((name) => steps.get(name)));
}

/** Makes one where it is missing, and names it to all tests: one that has a PARE_HOME of its own
 * would make it again there. */
async function makeEnvironment(name: string): Promise<void> {
  let shown = "";
  const { python } = await ensureEnvironment(name, {
    onProgress: ({ line }) => {
      if (
        /^(Collecting|Processing|Downloading|Using cached|Looking|Installing|Successfully)/.test(
          line.trim(),
        ) || line === shown
      ) return;
      console.error(`${name}: ${shown = line}`);
    },
  });
  process.env[overrideVariable(name)] = python;
}

/** Before any job that uses them starts: each would train or fetch one of its own. */
async function makeModels(): Promise<void> {
  const demo = ensureDemoModel();
  const client = createBackendClient();
  const [, tiny] = await Promise.all([demo, trainedTinyModel(client)]);
  process.env.PARE_TINY_MODEL = tiny; // each home would train its own, for 14 s
  await client.close();
}
