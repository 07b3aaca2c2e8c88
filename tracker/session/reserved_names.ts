import { mkdirSync, rmdirSync } from "node:fs";
import type { StudyRequest } from "../../core/mod.ts";
import { studyName } from "../lab/find_study.ts";
import { runPaths, storePaths } from "../store/store_paths.ts";

/**
 * Names of studies that nobody named: two processes that begin in the same second would take the same one,
 * and be told so behind minutes of set-up. A name is reserved by its run's folder, which is made once.
 */
export class ReservedNames {
  readonly #folders: string[] = [];

  /** `reserving` false: nothing is written for who only looks. */
  constructor(private readonly root: string, private readonly reserving: boolean) {}

  /** A name for a study that begins now. */
  of(request: StudyRequest): string {
    const name = studyName(request, new Date());
    return this.reserving ? this.#take(name) : name;
  }

  /** The name, or the first of `NAME-2`, `NAME-3` … that is free. */
  #take(name: string): string {
    mkdirSync(storePaths(this.root).runs, { recursive: true });
    for (let n = 1;; n++) {
      const one = n === 1 ? name : `${name}-${n}`;
      const { folder } = runPaths(this.root, one);
      try {
        mkdirSync(folder);
        this.#folders.push(folder);
        return one;
      } catch (error) {
        if ((error as { code?: string }).code !== "EEXIST") throw error;
      }
    }
  }

  /** Gives back those under which nothing was recorded. */
  giveBack(): void {
    for (const folder of this.#folders.splice(0)) {
      try {
        rmdirSync(folder);
      } catch {
        // A run lies there.
      }
    }
  }
}
