/** Documents that people write, and small files of the store: an answer, or one sentence. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { readDocument } from "../../../tracker/commands/input/read_document.ts";
import { readProgress, writeProgress } from "../../../tracker/exchange/mlflow/mirror_progress.ts";
import { readEngines } from "../../../tracker/jobs/engines/engines_file.ts";
import { checkStudy } from "../../../tracker/lab/check_study.ts";
import { exampleText, readStages } from "../../../tracker/lab/read_document.ts";
import { checkFormat } from "../../../tracker/store/store_format.ts";
import { readSamples } from "../../../tracker/store/rows/sample_file.ts";
import { holdInvariants } from "../invariants.ts";
import { sometimes } from "../loop.ts";
import { refusalOf, type Target } from "./target.ts";

const ENGINES = `engines:
  lab:
    kind: slurm
    partition: gpu
    machine: a100-80gb
    price_per_hour: 12.5
    limits: { cpu: 16, gpu: 2 }
  ray:
    kind: ray
    address: http://127.0.0.1:8265
`;

const STUDY = { model_name: "tiny", dataset: "tiny", max_trials: 3, seed: 7, samples: { tiny: 8 } };

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** An answer or a sentence; `wrong` says what an answer may not be. */
function answers<T>(
  { folder, file, text, most }: { folder: string; file: string; text: string; most?: number },
  read: (path: string) => T | Promise<T>,
  wrong: (value: T) => string | null = () => null,
): Target {
  const path = join(folder, file);
  return {
    ...{ file, bytes: bytesOf(text), lines: false, kind: "hopeless" },
    ...(most === undefined ? {} : { most }),
    async check({ bytes }) {
      Deno.writeFileSync(path, bytes);
      const found = await refusalOf(() => read(path));
      if ("refusal" in found) {
        sometimes("a damaged document is refused in a sentence");
        return await holdInvariants({ refusal: found.refusal });
      }
      const fault = wrong(found.value);
      if (fault !== null) assert.fail(fault);
    },
  };
}

/** Rows of a worker's file: by its hash alone. */
function samplesTarget(folder: string): Target {
  const text = [0, 1, 2].map((n) =>
    JSON.stringify({
      ...{ task: "t", sample_id: `${n}`, sample_hash: "h", prompt_hash: "p", score: 1 },
      ...{ answer: "an answer that was kept", gold: null, log_likelihood: -1.5 },
    })
  ).join("\n") + "\n";
  const sha256 = createHash("sha256").update(text).digest("hex");
  return {
    ...answers(
      { folder, file: "samples.jsonl", text, most: 600 },
      (path) => readSamples(path, sha256),
      () => "samples are read from a file that was changed",
    ),
    lines: true,
  };
}

export function documentTargets(root: string): Target[] {
  const folder = join(root, "documents");
  const run = join(folder, "runs", "demo-1");
  Deno.mkdirSync(run, { recursive: true });
  const progress = { from: 0, offset: 512, points: 3, report_due: true };
  writeProgress(folder, "server 0", "demo-1", progress);
  const mirrored = Deno.readTextFileSync(join(run, "mlflow.json"));
  checkFormat(folder, true);
  const format = Deno.readTextFileSync(join(folder, "store.json"));
  return [
    samplesTarget(folder),
    answers({ folder, file: "engines.yaml", text: ENGINES }, readEngines),
    answers(
      { folder, file: "stages.yaml", text: exampleText(), most: 1_500 },
      readStages,
    ),
    answers(
      { folder, file: "study.json", text: JSON.stringify(STUDY, null, 2) },
      async (path) => checkStudy(await readDocument(path), "study"),
    ),
    answers(
      { folder, file: "runs/demo-1/mlflow.json", text: mirrored },
      () => readProgress(folder, "server 0", "demo-1"),
      // Behind, and it is sent again; never ahead of what was sent by more than a digit can tell.
      (found) => found === undefined || Number.isInteger(found.offset) ? null : "it is no place",
    ),
    answers({ folder, file: "store.json", text: format }, () => checkFormat(folder, false)),
  ];
}
