import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { Rubric, unknownName, UsageError, type WireScorer } from "../../../core/mod.ts";
import { checked } from "../../../core/serving/evaluation/checked_document.ts";
import { PROJECT_ROOT } from "../../ground/home.ts";

/** Where rubrics ship, a YAML file each, named as it names itself. */
const SHIPPED = join(PROJECT_ROOT, "plugins", "evaluation", "rubrics");
/** Characters of a rubric: it is a page or two, and the judge reads all of it each time. */
const LONGEST = 100_000;

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
  let document: unknown;
  try {
    const text = readFileSync(path, "utf8");
    if (text.length > LONGEST) throw new Error(`it has more than ${LONGEST} characters`);
    document = parse(text, { maxAliasCount: 100 });
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new UsageError(`Cannot read the rubric ${path}: ${said}`);
  }
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
