import { existsSync } from "node:fs";
import { unknownName, UsageError } from "../../core/mod.ts";
import { openStore, type Store } from "../store/store.ts";
import type { QueryLimits, QueryResult } from "../store/query/result.ts";
import { storePaths } from "../store/store_paths.ts";
import { journalSize } from "../store/index/sink.ts";

/** The stores that a board shows, each opened for reading once something is recorded there. */
export interface BoardStores extends AsyncDisposable {
  readonly roots: readonly string[];
  /** Every store with something in it, in the order in which they were named. */
  open(): Promise<Store[]>;
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
  const isEmpty = (root: string) => {
    const { journal } = storePaths(root);
    return !existsSync(journal) || journalSize(journal) === 0;
  };
  const open = () => Promise.all(roots.filter((root) => !isEmpty(root)).map(openAt));
  return {
    roots,
    open,
    async of(study_id) {
      const known = found.get(study_id);
      if (known !== undefined) return known;
      const ids: string[] = [];
      for (const store of await open()) {
        const here = (await store.studies()).map((study) => study.study_id);
        if (here.includes(study_id)) {
          found.set(study_id, store);
          return store;
        }
        ids.push(...here);
      }
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
