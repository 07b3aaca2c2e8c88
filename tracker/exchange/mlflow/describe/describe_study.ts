import { basename } from "node:path";
import {
  givenLimits,
  goalText,
  type JournalRecord,
  recipeName,
  trialName,
} from "../../../../core/mod.ts";
import { type Checkpoints, filesOf, frontFiles } from "../checkpoints.ts";
import type { UsedDataset } from "../client/client.ts";
import { registeredName } from "../client/registry.ts";
import { type Effect, jsonText, params, points, type Recipient, tags } from "./effects.ts";
import type { KnownStudy, StudyOpened } from "./known_study.ts";
import { noteContent } from "./note_content.ts";
import type { RunStatus } from "../client/answers.ts";

type Of<T extends JournalRecord["type"]> = Extract<JournalRecord, { type: T }>;

function datasetsOf({ spec, facts }: StudyOpened): UsedDataset[] {
  const { dataset } = facts;
  return spec.tasks.map(({ task, task_version }) => ({
    name: task,
    digest: (dataset.sha256 ?? `version ${task_version}`).slice(0, 36),
    source_type: dataset.kind === "file" ? "local" : "pare task",
    source: JSON.stringify({ uri: dataset.path ?? dataset.dataset, task, task_version }),
    context: "evaluation",
  }));
}

/** What the opening of a study writes. */
export function describeOpening(study: KnownStudy, record: StudyOpened): Effect[] {
  const { request, facts, spec, provenance } = record;
  const to = { study_id: record.study_id, trial_id: null };
  const objectives = spec.objectives.map(({ metric, direction }) => `${metric}:${direction}`);
  const { max_task_drops = {}, goals = [], ...constraints } = spec.constraints;
  const drops = Object.entries(max_task_drops).map(([task, limit]) => `${task}=${limit}`);
  const asked = params({
    model: facts.model.model_name,
    model_revision: facts.model.revision,
    architecture: facts.model.architecture,
    parameters: facts.model.parameters,
    dataset: facts.dataset.dataset,
    dataset_class: spec.dataset_class,
    tasks: spec.tasks.map(({ task }) => task).join(","),
    runtime: spec.runtime,
    device: facts.device.device_name,
    seed: request.seed,
    objectives: objectives.join(","),
    ...constraints,
    goals: goals.length === 0 ? null : goals.map(goalText).join(","),
    max_task_drops: drops.length === 0 ? null : drops.join(","),
    budget_seconds: request.budget_seconds,
    max_trials: request.max_trials,
  });
  const said = tags({
    "mlflow.note.content": noteContent(study, null),
    "pare.kind": request.kind,
    "pare.version": provenance.pare_version,
    ...Object.fromEntries(
      Object.entries(provenance.environments).map(([name, hash]) => [
        `pare.environment.${name}`,
        hash,
      ]),
    ),
  });
  return [
    { to, kind: "log", data: { params: asked, tags: said } },
    { to, kind: "status", status: "RUNNING", end_time: null },
    { to, kind: "datasets", datasets: datasetsOf(record) },
    { to, kind: "text", path: "study/request.json", text: jsonText(request) },
    { to, kind: "text", path: "study/spec.json", text: jsonText(spec) },
    { to, kind: "text", path: "study/facts.json", text: jsonText(facts) },
  ];
}

/** Limits that resuming set anew: a parameter of a run is never changed. */
export function describeLimits({ study_id, limits = {} }: Of<"study_resumed">): Effect[] {
  const names = givenLimits(limits);
  if (names.length === 0) return [];
  const set = names.map((name) => [`pare.limit.${name}`, String(limits[name])]);
  const to = { study_id, trial_id: null };
  return [{ to, kind: "log", data: { tags: tags(Object.fromEntries(set)) } }];
}

/** What one turn of the loop writes into the study's run; its number is the step. */
export function describeEpisode({ at, episode }: Of<"episode_closed">): Effect[] {
  const figures = {
    hypervolume: episode.hypervolume,
    front_size: episode.front.length,
    refused_proposals: episode.refused.length,
    episode_reward: episode.reward?.value ?? null,
  };
  const to = { study_id: episode.study_id, trial_id: null };
  const metrics = points(figures, Date.parse(at), episode.number);
  const front = tags({ "pare.front": episode.front.join(", ") });
  return [{ to, kind: "log", data: { metrics, tags: front } }];
}

function statusOf(stop: Of<"study_closed">["stop"]): RunStatus {
  return stop === "failed" ? "FAILED" : stop === "cancelled" ? "KILLED" : "FINISHED";
}

/** What the end of a study writes; the recommended checkpoint goes into the model registry. */
export function describeClosing(
  study: KnownStudy,
  record: Of<"study_closed">,
  checkpoints: Checkpoints,
): Effect[] {
  const { study_id, stop, message, recommended, at } = record;
  const to: Recipient = { study_id, trial_id: null };
  const said = tags({
    "pare.stop": stop,
    "pare.message": message,
    "pare.recommended": recommended,
  });
  const artifact = recommended === null ? null : study.trials.get(recommended)?.artifact ?? null;
  const { opened } = study;
  const effects: Effect[] = [
    { to, kind: "log", data: { tags: said } },
    { to, kind: "status", status: statusOf(stop), end_time: Date.parse(at) },
    ...(checkpoints === "front" ? frontFiles(study, recommended) : []),
  ];
  if (recommended === null || artifact === null || opened === null) return effects;
  const { model, dataset } = opened.facts;
  const trial = study.trials.get(recommended);
  const strategy = trial?.strategy?.strategy_id;
  const number = trial?.number ?? null;
  const what = number === null || strategy === undefined
    ? "the original"
    : `${trialName(number)} ${recipeName(strategy)}`;
  return [...effects, {
    to: { study_id, trial_id: recommended },
    kind: "recommend",
    recommended: {
      model: registeredName(`pare-${basename(model.model_name)}-${basename(dataset.dataset)}`),
      description: `${what} of study ${study_id}: ${message}`,
      trial_id: recommended,
      artifact_id: artifact.artifact_id,
      location: artifact.location,
      files: checkpoints === "none" ? [] : filesOf(study, artifact),
      at,
    },
  }];
}
