import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Rubric, unknownName, UsageError, type WireScorer } from "../../../core/mod.ts";
import { checked } from "../../../core/serving/evaluation/checked_document.ts";
import { PROJECT_ROOT } from "../../ground/home.ts";
import { readYaml } from "../../ground/storage/read_yaml.ts";

/** Where rubrics ship, a YAML file each, named as it names itself. */
const SHIPPED = join(PROJECT_ROOT, "plugins", "evaluation", "rubrics");

function shippedNames(): string[] {
  return readdirSync(SHIPPED).filter((name) => name.endsWith(".yaml"))
    .map((name) => name.replace(/\.yaml$/, "")).sort();
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

/**
 * A rubric that ships, by its name, or a YAML file.
 *
 * @throws UsageError there is none, or a field of it is unknown or wrong
 */
export function readRubric(name: string): Rubric {
  const shipped = shippedNames();
  const path = shipped.includes(name) ? join(SHIPPED, `${name}.yaml`) : name;
  if (!isFile(path)) {
    throw new UsageError(`${unknownName("rubric", name, shipped)}, or a YAML file`);
  }
  const document = readYaml(path, "the rubric");
  try {
    return checked(Rubric, document, "");
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`Cannot take the rubric ${path}: ${error.message}`);
  }
}

/** The scorer with the content of the rubric that it names: what it scores by is in its protocol. */
export function withRubric(scorer: WireScorer): WireScorer {
  const { rubric } = scorer.params;
  if (!scorer.judges || typeof rubric !== "string") return scorer;
  return { ...scorer, params: { ...scorer.params, rubric: readRubric(rubric) } };
}
