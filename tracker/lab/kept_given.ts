/** Which models and datasets of an object store a home's stores still name. */
import { existsSync } from "node:fs";
import { normalize, resolve } from "node:path";
import { isPath } from "../artifacts/remote/given.ts";
import { QueueDisk } from "../store/queue/queue_disk.ts";
import { queuePaths } from "../store/queue/queue_paths.ts";

/** Paths that jobs name which are in line or under way. */
function inLine(store: string): string[] {
  const { journal } = queuePaths(store);
  if (!existsSync(journal)) return [];
  const jobs = Object.values(new QueueDisk(journal).current().lines).flat();
  return jobs.flatMap(({ work: { cwd, model_name, dataset } }) =>
    [model_name, dataset].filter((one) => typeof one === "string")
      .map((one) => resolve(typeof cwd === "string" ? cwd : "/", one))
  );
}

/** A study says a path as it was given, below a folder that nobody knows any more. */
function mayBe(path: string, name: string): boolean {
  const end = normalize(name).replace(/^(?:~|(?:\.\.\/)*\.\.)?\//, "").replace(/^(?:\.\.\/)+/, "");
  return path === `/${end}` || path.endsWith(`/${end}`);
}

/**
 * Whether one at a path stays: a study that has not ended names it, or a job in line. Later ones send it anew
 * from where it lies.
 */
export function keptGiven(
  stores: readonly string[],
  { named, unsure }: { named: ReadonlySet<string>; unsure: readonly unknown[] },
): (path: string) => boolean {
  if (unsure.length > 0) return () => true; // a store that cannot say keeps all that it may have used
  const names = [...named, ...stores.flatMap(inLine)].filter(isPath);
  return (path) => names.some((name) => mayBe(path, name));
}
