import { stringify } from "yaml";
import { type MlflowClient, quoted } from "./client/client.ts";
import type { Recommended } from "./describe/effects.ts";
import type { RunPlace } from "./run_book.ts";

const MODEL_NAME = "checkpoint";

/** Writes a file beside the model's; one that is gone or too large is left out. */
export type Upload = (artifact_uri: string, path: string, file: string) => Promise<void>;

/** The file that makes a folder a model for MLflow. */
function modelFile(model_id: string, { run_id }: RunPlace, recommended: Recommended): string {
  return stringify({
    model_id,
    run_id,
    utc_time_created: recommended.at.replace("T", " ").replace("Z", ""),
    flavors: {
      pare: {
        artifact_id: recommended.artifact_id,
        location: recommended.location,
        data: "checkpoint",
      },
    },
  });
}

/** The run's logged model; what an interrupted try has made is taken up. */
async function loggedModel(
  client: MlflowClient,
  place: RunPlace,
  recommended: Recommended,
  upload: Upload,
): Promise<string> {
  const { run_id, experiment_id } = place;
  const found = await client.findLoggedModels(experiment_id, `source_run_id = ${quoted(run_id)}`);
  const model = found.find(({ info }) => info.name === MODEL_NAME) ??
    await client.createLoggedModel({
      experiment_id,
      name: MODEL_NAME,
      model_type: "pare checkpoint",
      source_run_id: run_id,
      params: [],
      tags: [
        { key: "pare.trial_id", value: recommended.trial_id },
        { key: "pare.artifact_id", value: recommended.artifact_id },
      ],
    });
  const { model_id, artifact_uri, status } = model.info;
  if (status !== "LOGGED_MODEL_READY") {
    for (const { path, file } of recommended.files) {
      await upload(artifact_uri, `checkpoint/${path}`, file);
    }
    await client.putText(artifact_uri, "MLmodel", modelFile(model_id, place, recommended));
    await client.logOutputModel(run_id, model_id);
    await client.readyLoggedModel(model_id);
  }
  return model_id;
}

/**
 * Puts the recommended checkpoint with its files into the model registry as a version of its own,
 * under the alias `recommended`. Done again it finds what is there.
 */
export async function recommend(
  client: MlflowClient,
  place: RunPlace,
  recommended: Recommended,
  upload: Upload,
): Promise<void> {
  const model_id = await loggedModel(client, place, recommended, upload);
  const { model: name, description } = recommended;
  await client.ensureRegisteredModel(name, "Checkpoints that pare recommends");
  const versions = await client.modelVersions(name);
  const version = versions.find(({ run_id }) => run_id === place.run_id) ??
    await client.createModelVersion({
      name,
      source: `models:/${model_id}`,
      run_id: place.run_id,
      model_id,
      description,
      tags: [
        { key: "pare.trial_id", value: recommended.trial_id },
        { key: "pare.artifact_id", value: recommended.artifact_id },
        { key: "pare.location", value: recommended.location },
      ],
    });
  await client.setAlias(name, "recommended", version.version);
}
