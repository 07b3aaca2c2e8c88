import { unknownName, UsageError } from "../../core/mod.ts";
import { openStore, type Store } from "../store/store.ts";
import type { QueryLimits, QueryResult } from "../store/query/result.ts";
import { storePaths } from "../store/store_paths.ts";
import { isEmptyShelf } from "../store/shelf/shelf.ts";

/** Answers of several stores, and why others gave none. */
export interface Answers<T> {
  readonly answers: readonly T[];
  readonly refused: readonly UsageError[];
}

/** The stores that a board shows, each opened for reading once something is recorded there. */
export interface BoardStores extends AsyncDisposable {
  readonly roots: readonly string[];
  /**
   * What every store with something in it answers, in the order in which they were named. One that is refused
   * in a sentence, as a newer pare wrote it, hides no other; where all of them are, the first is thrown.
   */
  each<T>(ask: (store: Store) => Promise<T>): Promise<Answers<T>>;
  /** The store that has the study; an unknown one gets the nearest. */
  of(study_id: string): Promise<Store>;
  /** The store at a root; the first where none is named. */
  at(root: string | undefined): Promise<Store>;
}

/** Opens the stores at these folders as they are asked for. */
export function boardStores(roots: readonly string[]): BoardStores {
  const opened = new Map<string, Promise<Store>>();
  const found = new Map<string, Store>(); // a study stays where it is
  const openAt = (root: string): Promise<Store> => {
    const known = opened.get(root);
    if (known !== undefined) return known;
    const opening = openStore(root, { write: false });
    opened.set(root, opening);
    opening.catch(() => opened.delete(root));
    return opening;
  };
  const isEmpty = (root: string) => isEmptyShelf(storePaths(root));
  const each = async <T>(ask: (store: Store) => Promise<T>): Promise<Answers<T>> => {
    const asked = roots.filter((root) => !isEmpty(root));
    const all = await Promise.allSettled(asked.map(async (root) => await ask(await openAt(root))));
    const answers = all.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
    const failed = all.flatMap((one) => one.status === "rejected" ? [one.reason as unknown] : []);
    const refused = failed.filter((one) => one instanceof UsageError);
    if (refused.length < failed.length) throw failed.find((one) => !(one instanceof UsageError));
    if (answers.length === 0 && refused.length > 0) throw refused[0];
    return { answers, refused };
  };
  return {
    roots,
    each,
    async of(study_id) {
      const known = found.get(study_id);
      if (known !== undefined) return known;
      const { answers, refused } = await each(async (store) => ({
        store,
        ids: (await store.studies()).map((study) => study.study_id),
      }));
      const has = answers.find(({ ids }) => ids.includes(study_id));
      if (has !== undefined) {
        found.set(study_id, has.store);
        return has.store;
      }
      if (refused[0] !== undefined) throw refused[0]; // it may be there
      const ids = answers.flatMap((one) => one.ids);
      throw new UsageError(
        ids.length === 0
          ? "Cannot find a study in this store: run one first"
          : unknownName("study", study_id, ids),
      );
    },
    async at(root) {
      const named = root === undefined || root === "" ? roots[0]! : root;
      if (!roots.includes(named)) throw new UsageError(unknownName("store", named, [...roots]));
      if (isEmpty(named)) {
        throw new UsageError(`Cannot ask the store ${named} as nothing is recorded there yet`);
      }
      return await openAt(named);
    },
    async [Symbol.asyncDispose]() {
      const stores = await Promise.allSettled(opened.values());
      for (const one of stores) if (one.status === "fulfilled") await one.value.close();
    },
  };
}

/** The one row of a statement that gives one. */
export async function oneRow(
  store: Store,
  sql: string,
  params: NonNullable<QueryLimits["params"]>,
): Promise<QueryResult["rows"][number] & { stale: string | null }> {
  const { rows, stale } = await store.query(sql, { params });
  return { ...rows[0] ?? {}, stale };
}
