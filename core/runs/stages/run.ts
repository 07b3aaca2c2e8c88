import type { Study } from "../../loop/study.ts";
import type { Artifact } from "../../schemas/artifact.ts";
import type { RunPorts } from "../run_kind.ts";
import type { StagesPlan } from "./plan.ts";
import type { Ledger } from "./ledger.ts";
import type { Standing } from "./standing.ts";

/** A run under way. */
export interface Run {
  readonly study: Study;
  readonly plan: StagesPlan;
  readonly ledger: Ledger;
  readonly ports: RunPorts;
  readonly artifacts: Map<string, Artifact>;
  /** The original, then what each stage left that passed. */
  readonly ladder: Standing[];
}
