import type { Artifact } from "../../../schemas/artifact.ts";
import type { Facts } from "../../../schemas/facts.ts";
import type { StagesPlan } from "../plan.ts";
import { saidCheck, type StageCheck } from "./check.ts";

const WEIGHTS = /\.(safetensors|gguf|bin|pt|pth|onnx|xml)$/;

function weightsOf({ files }: Artifact): string[] {
  return files.filter(({ path }) => WEIGHTS.test(path)).map(({ sha256 }) => sha256).sort();
}

/** Whether an artifact holds its parent's weights, byte for byte, under a name of its own. */
function isItsParent(artifact: Artifact, parent: Artifact): boolean {
  if (artifact.artifact_id === parent.artifact_id) return true;
  const [own, before] = [weightsOf(artifact), weightsOf(parent)];
  return own.length > 0 && own.join() === before.join();
}

/** Bytes that count: the original's at most 2 a weight, as a float32 import must not double a ratio. */
export function countedBytes(artifact: Artifact, { model }: Facts): number {
  return artifact.parent_id === null
    ? Math.min(artifact.size_bytes, model.fp16_bytes)
    : artifact.size_bytes;
}

/**
 * What can be told of an artifact before it is measured. Verification has judged its tensors already.
 * `parent` stands so far, and `onto` is what the stage was applied to: the original may be both.
 */
export function artifactChecks(
  artifact: Artifact,
  { parent, onto }: { readonly parent: Artifact; readonly onto: Artifact },
  facts: Facts,
  { larger }: Pick<StagesPlan, "larger">,
): StageCheck[] {
  const about = "artifact" as const;
  const checks: StageCheck[] = [];
  const isSetting = artifact.weights_id !== undefined;
  const same = isSetting ? undefined : [onto, parent].find((one) => isItsParent(artifact, one));
  if (same !== undefined) {
    const reason = `${artifact.artifact_id} holds the weights of its parent ${same.artifact_id} ` +
      "byte for byte: the stage changed nothing";
    checks.push(saidCheck(about, null, "failed", reason));
  }
  const own = artifact.model?.architecture;
  if (own !== undefined && own !== facts.model.architecture) {
    const reason = `it is a ${own}, its parent a ${facts.model.architecture}: another architecture`;
    checks.push(saidCheck(about, null, "failed", reason));
  }
  if (checks.length === 0) {
    checks.push(saidCheck(about, null, "passed", "verified, of its parent's architecture"));
  }
  return [...checks, ...isSetting ? [] : [sizeCheck(artifact, parent, facts, larger)]];
}

function sizeCheck(
  artifact: Artifact,
  parent: Artifact,
  facts: Facts,
  larger: StagesPlan["larger"],
): StageCheck {
  const [own, before] = [artifact.size_bytes, countedBytes(parent, facts)];
  const grows = own > before;
  const failed = grows && larger === "fails";
  const how = grows
    ? `, more than its parent's ${before}: what a stage writes takes its parent's place, and ratios ` +
      "do not multiply"
    : ` in place of ${before}, a ratio of ${(before / own).toFixed(2)}`;
  const allowed = grows && !failed ? "; the document lets it pass" : "";
  return {
    ...saidCheck(
      "size",
      null,
      failed ? "failed" : "passed",
      `${own} bytes on disk${how}${allowed}`,
    ),
    value: own,
    threshold: before,
  };
}
