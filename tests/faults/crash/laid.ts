/** What lies on a disk once some changes reached it. */
import { createHash } from "node:crypto";

/** Content by path; null: a folder. */
export type Files = ReadonlyMap<string, Uint8Array | null>;

/** A file or folder, whatever its name. */
export type Node = number;

export type Change =
  | {
    readonly of: "data";
    readonly node: Node;
    readonly at: number | "end";
    readonly bytes: Uint8Array;
  }
  | { readonly of: "size"; readonly node: Node; readonly size: number }
  /** Names that come (a node) or go (null), all at once. */
  | { readonly of: "names"; readonly names: readonly Entry[] };

export interface Entry {
  readonly folder: Node;
  readonly name: string;
  readonly node: Node | null;
  readonly is_folder: boolean;
}

/** A file's content after some of its changes. */
function grown(before: Uint8Array, change: Change & { of: "data" | "size" }): Uint8Array {
  if (change.of === "size") {
    const bytes = new Uint8Array(change.size);
    bytes.set(before.subarray(0, change.size));
    return bytes;
  }
  const at = change.at === "end" ? before.length : change.at;
  const bytes = new Uint8Array(Math.max(before.length, at + change.bytes.length));
  bytes.set(before);
  bytes.set(change.bytes, at);
  return bytes;
}

/** What lies where: of a file the changes that reached it, of a folder null. */
export type Laid = ReadonlyMap<string, readonly (Change & { of: "data" | "size" })[] | null>;

/** What lies where once these changes reached the disk. */
export function laid(changes: readonly Change[]): Laid {
  const data = new Map<Node, (Change & { of: "data" | "size" })[]>();
  const folders = new Map<Node, Map<string, Entry>>([[0, new Map()]]);
  for (const change of changes) {
    if (change.of !== "names") {
      const emptied = change.of === "size" && change.size === 0;
      data.set(change.node, emptied ? [] : [...data.get(change.node) ?? [], change]);
      continue;
    }
    for (const entry of change.names) {
      const names = folders.get(entry.folder) ?? new Map<string, Entry>();
      folders.set(entry.folder, names);
      if (entry.node === null) names.delete(entry.name);
      else names.set(entry.name, entry);
    }
  }
  const found = new Map<string, (Change & { of: "data" | "size" })[] | null>();
  const walk = (folder: Node, path: string) => {
    for (const { name, node, is_folder } of folders.get(folder)?.values() ?? []) {
      const own = path === "" ? name : `${path}/${name}`;
      if (is_folder || folders.has(node!)) {
        found.set(own, null);
        walk(node!, own);
      } else found.set(own, data.get(node!) ?? []);
    }
  };
  walk(0, "");
  return found;
}

export function built(places: Laid): Files {
  return new Map(
    [...places].map(([path, changes]) => [
      path,
      changes === null ? null : changes.reduce<Uint8Array>(grown, new Uint8Array(0)),
    ]),
  );
}

/** Tells states apart by their changes: their bytes are not made for it. */
export class Seen {
  readonly #numbers = new Map<Change, number>();
  readonly #keys = new Set<string>();

  #numberOf(change: Change): number {
    const known = this.#numbers.get(change) ?? this.#numbers.size;
    this.#numbers.set(change, known);
    return known;
  }

  /** Whether it is another than all before. */
  adds(places: Laid, acknowledged: number): boolean {
    const hash = createHash("sha1").update(`${acknowledged}`);
    for (const path of [...places.keys()].sort()) {
      const changes = places.get(path)!;
      hash.update(`\0${path}\0${changes?.map((one) => this.#numberOf(one)).join() ?? "folder"}`);
    }
    const key = hash.digest("base64");
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    return true;
  }
}
