import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type CallRequest, type CallResult, CALLS, type Spec } from "../../../core/mod.ts";
import { type CallRunner, refusal, type Warning } from "../runner/call_runner.ts";
import type { Workshop } from "../runner/workshop.ts";

/** What stops the making of a study's data: the next try leaves these benchmarks out. */
export class BrokenTasks extends Error {
  constructor(readonly refused: Spec["missing_tasks"]) {
    super("benchmarks are broken");
  }
}

/** What the making of the data warned of, beside them. */
const WARNINGS = "warnings.json";

/** Tells what was warned of when data were made that are taken over. */
async function tellKept(runner: CallRunner, path: string): Promise<void> {
  if (!existsSync(path)) return; // made by an earlier pare
  const warnings: Warning[] = JSON.parse(await readFile(path, "utf8"));
  await runner.tellAgain?.(
    "setup",
    warnings,
    "the data that an earlier study made were taken over",
  );
}

/**
 * The data of a study, made once for the same inputs. What their making warned of is told again to a
 * new study that takes them over.
 */
export async function preparedData(
  caches: Pick<Workshop["caches"], "cached">,
  runner: CallRunner,
  key: string,
  request: Omit<CallRequest<"prepare_data">, "output_dir">,
  isNew: boolean,
): Promise<{ prepared: CallResult<"prepare_data">; folder: string }> {
  const { directory: folder, made } = await caches.cached(
    "data",
    key,
    async (temporary) => {
      const asked = { ...request, output_dir: temporary };
      const warnings: Warning[] = [];
      const hear = (one: Warning) => void warnings.push(one);
      const prepared = await runner("setup", asked, "default", { heard: hear });
      if (!prepared.ok) throw refusal(prepared.failure);
      if (prepared.value.refused.length > 0) throw new BrokenTasks(prepared.value.refused);
      // The folder is renamed when it is whole: only the names of its files stay right.
      const path = basename(prepared.value.calibration_path);
      const inside = { ...prepared.value, calibration_path: path };
      await writeFile(join(temporary, WARNINGS), JSON.stringify(warnings));
      await writeFile(join(temporary, "prepared.json"), JSON.stringify(inside));
    },
  );
  // A study that goes on has them in its journal already.
  if (!made && isNew) await tellKept(runner, join(folder, WARNINGS));
  const text = await readFile(join(folder, "prepared.json"), "utf8");
  return { prepared: CALLS.prepare_data.result.parse(JSON.parse(text)), folder };
}
