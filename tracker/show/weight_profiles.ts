import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  kindOf,
  UsageError,
  weigh,
  type Weighed,
  type WeightProfile,
  WeightProfiles,
} from "../../core/mod.ts";
import { PROJECT_ROOT } from "../ground/home.ts";
import { readYaml } from "../ground/storage/read_yaml.ts";
import type { StudyView } from "./view/study_view.ts";

const SHIPPED = join(PROJECT_ROOT, "plugins", "search", "weight_profiles.yaml");

/** The profiles that ship with pare, their comments with them. */
export function shippedProfilesText(): string {
  return readFileSync(SHIPPED, "utf8").trimEnd();
}

/** Profiles of a file, YAML or JSON; without one those that ship. */
export function readProfiles(path: string = SHIPPED): WeightProfile[] {
  const read = WeightProfiles.safeParse(readYaml(path, "the profiles") ?? []);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const at = issue?.path.join(".") || "the file";
  throw new UsageError(`Cannot take the profiles ${path}: ${at}: ${issue?.message ?? "unknown"}`);
}

/** A study's trials under other weights; nothing is run and nothing recorded. */
export function weighView(
  view: Pick<StudyView, "study_id" | "spec" | "facts" | "trials" | "request">,
  weights: WeightProfile["weights"],
): Weighed {
  const { spec, facts, trials, request } = view;
  const { needs, does } = kindOf(request);
  if (!needs.front) {
    throw new UsageError(`Cannot weigh ${view.study_id} as it ${does}: it has no front`);
  }
  return weigh({ spec, facts, trials, request, stop: "exhausted" }, weights);
}
