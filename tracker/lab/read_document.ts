import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  RunRequest,
  StagesPlan,
  type StudyRequest,
  unknownName,
  UsageError,
} from "../../core/mod.ts";
import { checkStudy } from "./check_study.ts";
import { PROJECT_ROOT } from "../ground/home.ts";
import { readYaml } from "../ground/storage/read_yaml.ts";

/** A staged document, YAML or JSON, as the study that it asks for. */
export function readStages(path: string): StudyRequest {
  const document = readYaml(path, "the stages");
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    throw new UsageError(
      `Cannot take the stages ${path}: it must be an object with model_name, stages and core`,
    );
  }
  if ("stages" in document) return checked(document as Record<string, unknown>);
  throw new UsageError(
    `Cannot take the stages ${path} without "stages": a list of { name, actions }; ` +
      "`pare stages --example` prints a whole document",
  );
}

/** Fields of the document: the plan's, and a study's. */
const FIELDS = [...Object.keys(StagesPlan.shape), ...Object.keys(RunRequest.shape)];

/** Refuses a misspelt field: beside a list of stages those of the plan stand with a study's. */
function checkFields(document: Record<string, unknown>): void {
  if (!Array.isArray(document["stages"])) return;
  const unknown = Object.keys(document).filter((field) => !FIELDS.includes(field));
  if (unknown.length === 0) return;
  const said = unknown.map((field) => unknownName("field", field, FIELDS));
  throw new UsageError(`stages: ${said.join("; ")}`);
}

/** Faults are named by the document's own fields: its plan is under no second name. */
function checked(document: Record<string, unknown>): StudyRequest {
  checkFields(document);
  try {
    return checkStudy(document, "stages");
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(error.message.replaceAll(/stages\.(?=[a-z])/g, ""));
  }
}

/** The requirement's own three stages, as a document to be changed. */
export const EXAMPLE = join(PROJECT_ROOT, "plugins", "codec", "stages.yaml");

/** Documents to be changed, by name. */
const EXAMPLES: Readonly<Record<string, string>> = {
  codecs: EXAMPLE,
  composed: join(PROJECT_ROOT, "plugins", "codec", "composed.yaml"),
};

/** The text of one; `true`: the first. */
export function exampleText(name: string | true = true): string {
  const names = Object.keys(EXAMPLES);
  const path = EXAMPLES[name === true ? names[0]! : name];
  if (path === undefined) throw new UsageError(unknownName("document", String(name), names));
  return readFileSync(path, "utf8").trimEnd();
}
