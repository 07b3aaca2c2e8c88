/** Staged runs in the loop's scripted world: what each stage costs is known, and anything may go wrong. */
import {
  type Artifact,
  kindOf,
  type Outcome,
  type ResolvedAction,
  type StageDecision,
  type StagesPlan,
  type StudyHistory,
} from "../../../core/mod.ts";
import { StagesPlan as StagesPlanSchema } from "../../../core/runs/stages/plan.ts";
import { historyOf, type World, world, type WorldOptions } from "../study_world.ts";

type PlanInput = (typeof StagesPlanSchema)["_zod"]["input"];

export const round = (bits: number, more: Record<string, number | string> = {}) => ({
  agent: "shrinking",
  method: "round",
  params: { bits, group_size: 32, ...more },
});

/** Two stages of one action each, and what the test changes of them. */
export function plan(more: Partial<PlanInput> = {}): PlanInput {
  return {
    stages: [
      { name: "first", actions: [round(8)] },
      { name: "second", actions: [round(4)] },
    ],
    core: ["words"],
    ...more,
  };
}

/** Words on each rung: 100, then 150, then all 200. */
const SAMPLES = { proxy: 100, half: 150, full: 200 };

export interface StagesWorld extends World {
  /** Bytes that have changed under their name: artifact id to the id that is found. */
  readonly bytes: Map<string, string>;
  readonly artifacts: Map<string, Artifact>;
}

export interface StagesOptions extends WorldOptions {
  /** Changes what an action made. */
  readonly made?: (artifact: Artifact, parent: Artifact, action: ResolvedAction) => Artifact;
}

export function stagesWorld(
  asked: Partial<PlanInput> = {},
  { made, ...options }: StagesOptions = {},
): StagesWorld {
  const samples = { proxy: 100, full: 200, between: [{ fidelity: "half", samples: 150 }] };
  const w = world(
    { stages: plan(asked), samples, constraints: { max_accuracy_drop: 1 } },
    { samples: SAMPLES, ...options },
  );
  const bytes = new Map<string, string>();
  const artifacts = new Map<string, Artifact>();
  const backend = {
    ...w.backend,
    async apply(trial_id: string, parent: Artifact, action: ResolvedAction, stage: number) {
      const outcome = await w.backend.apply(trial_id, parent, action, stage);
      if (!outcome.ok || made === undefined) return outcome;
      const artifact = made(outcome.value.artifact, parent, action);
      return { ...outcome, value: { ...outcome.value, artifact } } as Outcome<
        { artifact: Artifact; cached: boolean }
      >;
    },
  };
  return { ...w, backend, ports: { ...w.ports, backend }, bytes, artifacts };
}

export async function runWorld(w: StagesWorld, history?: StudyHistory) {
  const input = w.input(history === undefined ? {} : { history });
  return await kindOf(input.request).drive(input, {
    ...w.ports,
    idOfBytes: ({ artifact_id }) => {
      const found = w.bytes.get(artifact_id) ?? artifact_id;
      if (found === "unreadable") return Promise.reject(new Error("Input/output error"));
      return Promise.resolve(found);
    },
  });
}

export function ledgerOf(w: World): StageDecision[] {
  return w.records.flatMap((one) => one.type === "stages_decided" ? one.decisions : []);
}

/** Attempts and what became of them: "first 1 advance". */
export function story(w: World): string[] {
  return ledgerOf(w).filter(({ about }) => about === "attempt" || about === "shipped")
    .map(({ stage, attempt, decision }) => `${stage} ${attempt} ${decision}`);
}

export function shipped(w: World): string | null {
  return ledgerOf(w).find(({ decision }) => decision === "ship")?.to_artifact ?? null;
}

/** The rows of a ledger without what a killed run's trial leaves other: its number. */
export function comparable(rows: readonly StageDecision[]) {
  return rows.map(({ trial_id: _, ...row }) => row);
}

export { historyOf };
export type { StagesPlan };
