import type { Facts } from "../schemas/facts.ts";
import type { Change, StoredForm, Support } from "./change.ts";
import type { RuntimeCaches } from "./runtime_caches.ts";

/** What a runtime makes of an artifact to load it: `make.py` of its Python folder does. */
export interface RuntimeForm {
  /** Folder under `python-backends/envs/` in which it is made. */
  readonly environment: string;
  /**
   * Whose it is: every model's of one architecture, as it holds no weights, or one artifact's. It is
   * kept for those that share it; of an artifact, only a baseline's is kept.
   */
  readonly shared: "architecture" | "artifact";
}

/** A part of a model that a runtime is to hold: its form, null for floats, its weights, their bytes as stored. */
export interface HeldPart {
  readonly form: StoredForm | null;
  readonly weights: number;
  readonly stored_bytes: number;
}

/**
 * What executes an artifact for a speed or memory figure. Its Python half is the folder of the same
 * name under `pare_backends/runtimes/`, with "_" for each dot.
 */
export interface Runtime {
  readonly kind: "runtime";
  readonly name: string;
  readonly summary: string;
  readonly needs: { readonly environment: string; readonly gpu: boolean };
  /**
   * A third party's Python half: absolute path of the folder with `session.py` and, for a form of its
   * own, `make.py`, `logits.py` and `model.py`. Its `envs/` are as those of an agent's `python_dir`.
   */
  readonly python_dir?: string;
  /** What it loads in the place of a checkpoint; null: it loads the checkpoint itself. */
  readonly form: RuntimeForm | null;
  /** Whether it can run this model on this machine, and why not. */
  supports(facts: Facts): Support;
  /** Of weights that are all floats, its own first: the original is timed in each. Absent: in none. */
  precisions?(facts: Facts): readonly string[];
  /** The format of `pare convert` that its users load; absent: they load the checkpoint. */
  readonly loads?: string;
  /** The weight formats that it computes with, in one line. */
  readonly formats: string;
  /** What it does to stored formats, or a cut cache, in place of running them, such as "multiplies packed
   * weights out to float32": speed there is emulated, and latency is then no objective. Absent: nothing. */
  readonly emulates?: string;
  /** Whether it can run what an action leaves, and why not: asked before any work. */
  holds(change: Change, facts: Facts): Support;
  /** Whether it gains by a change that others do not, such as zeros or its own blocks; absent: never. */
  skips?(change: Change): boolean;
  /** Bytes that reading a part once takes, as it holds the part; absent: nobody can tell beforehand. */
  reads?(part: HeldPart): number;
  /** How it keeps keys and values, where that can be set: `pare caches` measures it. */
  readonly caches?: RuntimeCaches;
  /** Why `pare serve` cannot ask it for the next token's probabilities, as a clause; absent: it can. */
  readonly unserved?: string;
  /** Larger is preferred where several fit and none was timed; below 10: only where it is asked for. */
  readonly preference: number;
}

/** Returns its argument; lets TypeScript check a runtime where it is written. */
export function defineRuntime(runtime: Omit<Runtime, "kind">): Runtime {
  return { kind: "runtime", ...runtime };
}
