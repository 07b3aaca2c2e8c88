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

/** What reached a file, in its order. */
type Written = readonly (Change & { of: "data" | "size" })[];

/** What lies where: of a file the changes that reached it, of a folder null. */
export type Laid = ReadonlyMap<string, Written | null>;

/** What lies where once these changes reached the disk. */
export function laid(changes: readonly Change[]): Laid {
  const data = new Map<Node, (Change & { of: "data" | "size" })[]>();
  const folders = new Map<Node, Map<string, Entry>>([[0, new Map()]]);
  for (const change of changes) {
    if (change.of !== "names") {
      const before = data.get(change.node);
      if (change.of === "size" && change.size === 0) data.set(change.node, []);
      else if (before === undefined) data.set(change.node, [change]);
      else before.push(change);
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

const contentOf = (changes: Written): Uint8Array =>
  changes.reduce<Uint8Array>(grown, new Uint8Array(0));

export function built(places: Laid): Files {
  return new Map(
    [...places].map(([path, changes]) => [path, changes === null ? null : contentOf(changes)]),
  );
}

/** Tells states apart by their bytes, which are made once for each history of a file. */
export class Told {
  readonly #numbers = new Map<Change, number>();
  readonly #digests = new Map<string, string>();

  #numberOf(change: Change): number {
    const known = this.#numbers.get(change) ?? this.#numbers.size;
    this.#numbers.set(change, known);
    return known;
  }

  #digestOf(changes: Written): string {
    const history = changes.map((one) => this.#numberOf(one)).join();
    const known = this.#digests.get(history) ??
      createHash("sha1").update(contentOf(changes)).digest("base64");
    this.#digests.set(history, known);
    return known;
  }

  /** The same for two states whose folders hold the same bytes under the same names. */
  keyOf(places: Laid): string {
    const hash = createHash("sha1");
    for (const path of [...places.keys()].sort()) {
      const changes = places.get(path)!;
      hash.update(`\0${path}\0${changes === null ? "folder" : this.#digestOf(changes)}`);
    }
    return hash.digest("base64");
  }
}
