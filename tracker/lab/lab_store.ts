import { UsageError } from "../../core/mod.ts";
import { named } from "../ground/storage/file_lock.ts";
import { journalSize } from "../store/index/sink.ts";
import { openStore, type Store } from "../store/store.ts";
import { storePaths } from "../store/store_paths.ts";
import { storeWriter } from "../store/store_writer.ts";

/** A store that is open for writing until it is given back. */
export interface StoreInUse extends AsyncDisposable {
  readonly store: Store;
}

/** A lab's store: read by anybody at any time, taken for writing only while a study runs. */
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

/** The sentence for a second study, naming the process that runs the first. */
async function openForStudy(root: string): Promise<Store> {
  try {
    return await openStore(root, { write: true });
  } catch (error) {
    const owner = storeWriter(storePaths(root));
    if (owner === null) throw error;
    throw new UsageError(
      `Cannot run a study in the store ${root} as ${
        named(owner)
      } is writing to it; wait for that process, stop it, or give this study a store of its own`,
      { cause: error },
    );
  }
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
    if (study !== undefined) open.delete(study.study_id);
    if (--users > 0) return;
    const closing = writer;
    writer = null;
    await (await closing)?.close();
  };

  return {
    root,
    async current() {
      if (writer !== null) return await writer;
      // A first set-up that was stopped leaves a journal without a record.
      if (reader === null && journalSize(storePaths(root).journal) === 0) return null;
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
      writer ??= openForStudy(root);
      try {
        const store = await writer;
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
        users--;
        writer = null;
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
