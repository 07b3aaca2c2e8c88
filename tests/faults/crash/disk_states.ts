/**
 * What a disk may hold after a power cut: of each file what was synced, of each folder the names that were,
 * and of all that was pending any part. Names and data are apart: a name may be there without its data.
 */
import { dirname, join } from "node:path";
import { streamRandom } from "../../../core/mod.ts";
import { built, type Change, type Entry, type Files, laid, type Node, Told } from "./laid.ts";
import type { Operation } from "./record.ts";

/** A change, and the event with which it is on disk for certain. */
interface Pending {
  readonly event: number;
  readonly change: Change;
  readonly durable: number;
  readonly said: string;
}

export interface DiskState {
  /** Content by path; null: a folder. Made when it is asked for: all states at once fill the memory. */
  readonly files: () => Files;
  /** What the workload had acknowledged by then. */
  readonly acknowledged: readonly string[];
  /** Which cut it is, for people. */
  readonly call: string;
  readonly file: string;
}

/** Most pending changes of which every subset is tried. */
const ALL_SUBSETS = 6;
/** Most of which each is tried alone, and all but each. */
const EACH = 40;
const SOME_SUBSETS = 50;
/** Behind so many changes that wait, as of a folder that is synced at its end, the next event brings the same. */
const FEW_SUBSETS = 6;
/** It is certain from the beginning. */
const BEFORE = -1;
const SECTOR = 512;

/** Follows a recording: which node has which name, and what is pending when. */
class Recording {
  readonly changes: Pending[] = [];
  readonly acks: { event: number; said: string }[] = [];
  readonly #names = new Map<string, Node>();
  #nodes = 1;

  constructor(readonly root: string, base: Files, operations: readonly Operation[]) {
    this.#names.set(root, 0);
    for (const [name, bytes] of base) this.#standing(join(root, name), bytes);
    const synced = new Map<Node, number[]>();
    const raw: { event: number; change: Change; said: string }[] = [];
    operations.forEach((operation, event) => {
      if (operation.kind === "ack") this.acks.push({ event, said: operation.said });
      else if (operation.kind === "sync") {
        const node = this.#names.get(operation.path);
        if (node !== undefined) synced.set(node, [...synced.get(node) ?? [], event]);
      } else {
        const change = this.#change(operation);
        if (change === null) return;
        const path = operation.path.slice(root.length + 1);
        raw.push({ event, change, said: `${operation.kind} ${path}` });
      }
    });
    for (const { event, change, said } of raw) {
      const nodes = change.of === "names"
        ? change.names.map(({ folder }) => folder)
        : [change.node];
      const when = nodes.flatMap((node) => synced.get(node) ?? []).filter((at) => at > event);
      this.changes.push({ event, change, said, durable: Math.min(Infinity, ...when) });
    }
  }

  /** What was there before the workload. */
  #standing(path: string, bytes: Uint8Array | null): void {
    const own = { event: BEFORE, durable: BEFORE, said: "" };
    const names = this.#entry(path, this.#nodes++, bytes === null);
    this.changes.push({ ...own, change: { of: "names", names } });
    if (bytes === null) return;
    const node = this.#names.get(path)!;
    this.changes.push({ ...own, change: { of: "data", node, at: 0, bytes } });
  }

  #entry(path: string, node: Node | null, is_folder = false): Entry[] {
    const folder = this.#names.get(dirname(path));
    if (folder === undefined) return [];
    if (node === null) this.#names.delete(path);
    else this.#names.set(path, node);
    return [{ folder, name: path.slice(dirname(path).length + 1), node, is_folder }];
  }

  #change(operation: Exclude<Operation, { kind: "ack" | "sync" }>): Change | null {
    const { path } = operation;
    const node = this.#names.get(path);
    switch (operation.kind) {
      case "create":
        if (node !== undefined) return null;
        return { of: "names", names: this.#entry(path, this.#nodes++) };
      case "mkdir":
        return { of: "names", names: this.#entry(path, this.#nodes++, true) };
      case "write":
        if (node === undefined) return null;
        return { of: "data", node, at: operation.at, bytes: operation.bytes };
      case "truncate":
        return node === undefined ? null : { of: "size", node, size: operation.size };
      case "remove":
        return { of: "names", names: this.#entry(path, null) };
      case "rename": {
        if (node === undefined) return null;
        const { to } = operation;
        const is_folder = [...this.#names.keys()].some((one) => one.startsWith(`${path}/`));
        for (const [name, inner] of [...this.#names]) {
          if (!name.startsWith(`${path}/`)) continue;
          this.#names.delete(name);
          this.#names.set(to + name.slice(path.length), inner);
        }
        const names = [...this.#entry(path, null), ...this.#entry(to, node, is_folder)];
        return { of: "names", names };
      }
    }
  }
}

/** Made once: as long as a write waits, its halves are the same. */
const TORN = new WeakMap<Change, { said: string; change: Change }[]>();

/** A last write of which the disk has some sectors, or the length alone. */
function torn(change: Change): { said: string; change: Change }[] {
  const known = TORN.get(change) ?? halvesOf(change);
  TORN.set(change, known);
  return known;
}

function halvesOf(change: Change): { said: string; change: Change }[] {
  if (change.of !== "data") return [];
  const { bytes } = change;
  const cuts = [0];
  for (let at = SECTOR; at < bytes.length && cuts.length < 6; at += SECTOR) cuts.push(at);
  return cuts.flatMap((at) => {
    const zeros = new Uint8Array(bytes.length);
    zeros.set(bytes.subarray(0, at));
    const half = {
      said: `${at} of its bytes`,
      change: { ...change, bytes: bytes.subarray(0, at) },
    };
    const length = { said: `${at} of its bytes, then zeros`, change: { ...change, bytes: zeros } };
    return at === 0 ? [length] : [half, length];
  });
}

/** Which pending changes reached the disk, by their places; the last of them perhaps in part. */
function choices(pending: readonly Pending[], random: () => number): [string, Change[]][] {
  const all = pending.map(({ change }) => change);
  const found: [string, Change[]][] = [["all of it", all], ["what was synced alone", []]];
  if (pending.length <= ALL_SUBSETS) {
    for (let set = 1; set < 2 ** pending.length - 1; set++) {
      const some = pending.filter((_, n) => (set >> n & 1) === 1);
      found.push([some.map(({ said }) => said).join(" + "), some.map(({ change }) => change)]);
    }
  } else {
    const many = pending.length > EACH;
    pending.forEach((one, n) => {
      if (many && random() > FEW_SUBSETS / pending.length) return;
      found.push([`${one.said} alone`, [one.change]]);
      found.push([`all but ${one.said}`, all.filter((_, at) => at !== n)]);
    });
    for (let n = 0; n < (many ? FEW_SUBSETS : SOME_SUBSETS); n++) {
      found.push([`some, drawn ${n}`, all.filter(() => random() < 0.5)]);
    }
  }
  const last = pending.findLastIndex(({ change }) => change.of === "data");
  if (last >= 0) {
    for (const { said, change } of torn(pending[last]!.change)) {
      const changes = [...all.slice(0, last), change, ...all.slice(last + 1)];
      found.push([`of ${pending[last]!.said} ${said}`, changes]);
    }
  }
  return found;
}

interface Recorded {
  readonly root: string;
  /** What was there before. */
  readonly base: Files;
  readonly operations: readonly Operation[];
}

/**
 * Every different state of a disk after a cut behind each event of a recording. Of equal bytes the last is
 * taken where `adds_up`: more is acknowledged then, and more must hold. `equal`: how many are left out so.
 */
export function diskStates(
  { root, base, operations }: Recorded,
  seed: number,
  adds_up: boolean,
): { states: DiskState[]; equal: number } {
  const recording = new Recording(root, base, operations);
  const random = streamRandom(seed, "pending");
  const told = new Told();
  const states = new Map<string, DiskState>();
  let equal = 0;
  for (let event = 0; event < operations.length; event++) {
    const before = recording.changes.filter((one) => one.event <= event);
    const pending = before.filter((one) => one.durable > event);
    const waiting = new Set(pending.map(({ change }) => change));
    const last = pending.findLast(({ change }) => change.of === "data");
    const acknowledged = recording.acks.filter((ack) => ack.event <= event).map(({ said }) => said);
    for (const [said, changes] of choices(pending, random)) {
      const reached = new Set(changes);
      const part = changes.find((change) => !waiting.has(change));
      // In the order in which they were made, those that are certain among them.
      const ordered = before.flatMap((one) => {
        if (one.durable <= event || reached.has(one.change)) return [one.change];
        return part !== undefined && one === last ? [part] : [];
      });
      const places = laid(ordered);
      const key = `${told.keyOf(places)}${adds_up ? "" : acknowledged.length}`;
      if (states.has(key)) equal++;
      const operation = operations[event]!;
      const file = operation.kind === "ack" ? "" : operation.path.slice(root.length + 1);
      const what = operation.kind === "ack"
        ? `the acknowledgement ${operation.said}`
        : operation.kind;
      states.set(key, {
        files: () => built(places),
        acknowledged,
        file,
        call: `a cut behind event ${event}, ${what}: ${said}`,
      });
    }
  }
  return { states: [...states.values()], equal };
}
