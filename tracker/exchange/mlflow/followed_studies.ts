import type { FileLock } from "../../../python-backends/file_lock.ts";
import type { Store } from "../../store/store.ts";
import { lockMirror } from "./lock_mirror.ts";

/** The studies that a mirror follows: each in its store, locked so that no other process mirrors it. */
export class FollowedStudies {
  readonly #followed = new Map<string, { store: Store; end: number }>();
  readonly #locks: FileLock[] = [];

  constructor(private readonly root: string) {}

  get none(): boolean {
    return this.#followed.size === 0;
  }

  /** Takes a study in; false where another process mirrors it. */
  add(store: Store, study_id: string): boolean {
    if (!this.#followed.has(study_id)) {
      const lock = lockMirror(this.root, study_id);
      if (lock === null) return false;
      this.#locks.push(lock);
    }
    this.#followed.set(study_id, { store, end: 0 });
    return true;
  }

  /** Where the records of each study end, and whether any has grown since this was asked last. */
  ends(): { to: Record<string, number>; grown: boolean } {
    let grown = false;
    const to: Record<string, number> = {};
    for (const [study_id, one] of this.#followed) {
      const end = one.store.endOf(study_id);
      grown ||= end !== one.end;
      one.end = end;
      to[study_id] = end;
    }
    return { to, grown };
  }

  release(): void {
    for (const lock of this.#locks.splice(0)) lock.release();
  }
}
