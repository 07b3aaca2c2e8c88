import type { Artifact, Outcome, Registry } from "../../../core/mod.ts";
import type { ArtifactStore } from "../../artifacts/artifact_store.ts";
import { failed } from "./call_runner.ts";

/** What a call is told of where an artifact lies. */
export interface ArtifactPlace {
  readonly artifact_dir: string;
  /** Of a setting: where its weights lie. */
  readonly weights_dir?: string;
}

/**
 * Where an artifact lies and, of a setting, the weights whose id it names: the store knows where these
 * are, no file is asked for a path. `call` is what wants to know, for the failure.
 */
export async function artifactPlace(
  artifacts: Pick<ArtifactStore, "weightsOf">,
  artifact: Artifact,
  call: string,
): Promise<Outcome<ArtifactPlace>> {
  const { location, weights_id } = artifact;
  if (weights_id === undefined) {
    return { ok: true, value: { artifact_dir: location }, spans: [] };
  }
  const weights = await artifacts.weightsOf(artifact);
  if (weights !== null) {
    const value = { artifact_dir: location, weights_dir: weights.location };
    return { ok: true, value, spans: [] };
  }
  const message = `Cannot use the setting in ${location} as its weights, the artifact ` +
    `${weights_id}, are not in the artifact store`;
  const hint = "Run the strategy again: what gc removed is made again";
  return failed({ kind: "bad_input", message, hint, phase: call }, []);
}

/** Where a model runs whose setting, if it has one, needs no library of its own. */
const USUAL = "default";

/**
 * The environment in which an artifact runs: a setting is known where its method is applied, since a
 * library that decides by what is read must be there. Weights are known everywhere.
 */
export function environmentOf(
  registry: Pick<Registry, "method">,
  { weights_id, action }: Pick<Artifact, "weights_id" | "action">,
): string {
  if (weights_id === undefined || action === null) return USUAL;
  return registry.method(action.agent, action.method).method.needs.environment;
}
