import type { Study } from "../../loop/study.ts";
import type { StudyPorts } from "../../loop/study_input.ts";
import type { Artifact } from "../../schemas/artifact.ts";
import type { StagesPlan } from "../../schemas/stages/plan.ts";
import type { Ledger } from "./ledger.ts";
import type { Standing } from "./standing.ts";

/** What a staged run asks of the world beside what a study does. */
export interface StagesPorts extends StudyPorts {
  /** An artifact's id, reckoned anew from the bytes that lie there; throws where one cannot be read. */
  readonly idOfBytes: (artifact: Artifact) => Promise<string>;
}

/** A run under way. */
export interface Run {
  readonly study: Study;
  readonly plan: StagesPlan;
  readonly ledger: Ledger;
  readonly ports: StagesPorts;
  readonly artifacts: Map<string, Artifact>;
  /** The original, then what each stage left that passed. */
  readonly ladder: Standing[];
}
