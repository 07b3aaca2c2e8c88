import { UsageError } from "../../core/mod.ts";
import { isEmptyShelf } from "../store/shelf/shelf.ts";
import { openStore, type Store } from "../store/store.ts";
import { storePaths } from "../store/store_paths.ts";

/** A store that is open for writing until it is given back. */
export interface StoreInUse extends AsyncDisposable {
  readonly store: Store;
}

/** A lab's store: read at any time, open for writing only while a study of the lab runs. */
export interface LabStore extends AsyncDisposable {
  readonly root: string;
  /** The store as it is open now, else opened for reading; null while nothing is recorded. */
  current(): Promise<Store | null>;
  /**
   * Takes it for writing; studies of this lab that run at the same time share it, each once. One that
   * is open is ended by `endStudies`.
   */
  use(study?: OpenStudy): Promise<StoreInUse>;
  /** Ends the studies that are open, as if each had been cancelled. */
  endStudies(): Promise<void>;
}

/** A study that uses a lab's store. */
export interface OpenStudy {
  readonly study_id: string;
  /** Cancels it and resolves when it is closed. */
  readonly end: () => Promise<unknown>;
}

/** The store in the directory `root`; nothing is opened or made before it is asked for. */
export function openLabStore(root: string): LabStore {
  let reader: Promise<Store> | null = null;
  let writer: Promise<Store> | null = null;
  let users = 0;
  const open = new Map<string, OpenStudy>();

  const requireClosed = (study_id: string) => {
    if (!open.has(study_id)) return;
    throw new UsageError(
      `Cannot open the study ${study_id} as it is open in this lab: close() it, or wait for its run()`,
    );
  };

  const giveBack = async (study?: OpenStudy) => {
    if (study !== undefined) {
      await (await writer)?.release(study.study_id);
      open.delete(study.study_id);
    }
    if (--users > 0) return;
    const closing = writer;
    writer = null;
    await (await closing)?.close();
  };

  return {
    root,
    async current() {
      if (writer !== null) return await writer;
      if (reader === null && isEmptyShelf(storePaths(root))) return null;
      reader ??= openStore(root, { write: false });
      try {
        return await reader;
      } catch (error) {
        reader = null;
        throw error;
      }
    },
    async use(study) {
      if (study !== undefined) {
        requireClosed(study.study_id);
        open.set(study.study_id, study);
      }
      users++;
      writer ??= openStore(root, { write: true });
      try {
        const store = await writer;
        if (study !== undefined) await store.take(study.study_id);
        let given = false;
        return {
          store,
          async [Symbol.asyncDispose]() {
            if (given) return;
            given = true;
            await giveBack(study);
          },
        };
      } catch (error) {
        if (study !== undefined) open.delete(study.study_id);
        await giveBack().catch(() => writer = null); // it could not be opened
        throw error;
      }
    },
    async endStudies() {
      for (const study of [...open.values()]) await study.end();
    },
    async [Symbol.asyncDispose]() {
      const kept = [writer, reader];
      writer = null;
      reader = null;
      for (const store of kept) await (await store)?.close();
    },
  };
}
