/** Has a Python script measure a cell: the model, both texts, the answer at the end of its output. */
import { execa } from "execa";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { demoVariables } from "../../../python-backends/demo_model.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { pareHome, PYTHON_ROOT } from "../../../python-backends/home.ts";

const MODULES = ["..", "../recovery", "../stages", "../quantization"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url))
);
const CALIBRATION = join(PYTHON_ROOT, "pare_backends", "text", "calibration.jsonl");
const DATA = fileURLToPath(new URL("../../../plugins/evaluation/data", import.meta.url));
const MOST_OUTPUT = 64 * 1024;

export interface Place {
  /** Where the original and its windows are kept. */
  readonly folder: string;
  readonly model: "demo" | "tiny";
}

/** Both texts and how much of them; nothing of one is in the other. */
function textsOf(model: Place["model"]) {
  if (model === "tiny") {
    const text = join(DATA, "tiny_text.jsonl");
    const windows = { windows: 8, calibration_windows: 8 };
    return { text, calibration_text: text, ...windows, tokens: 64, calibration_tokens: 64 };
  }
  return {
    ...{ text: join(DATA, "demo_text.jsonl"), windows: 20, tokens: 256 },
    ...{ calibration_text: CALIBRATION, calibration_windows: 32, calibration_tokens: 256 },
  };
}

/** Of the task's 200: their forward passes are to cost less than those of the windows. */
const PASSAGES = 64;

/** The passages whose last words are asked, and how many. */
export function lastWords(model: Place["model"]) {
  const words = join(DATA, model === "tiny" ? "tiny_text.jsonl" : "last_words.jsonl");
  return { words, passages: PASSAGES };
}

/** The object that a script ends its output with, which begins as `begins` says. */
export async function measured(
  script: string,
  { folder, model }: Place,
  asked: object,
  begins: string,
): Promise<unknown> {
  const { python } = await ensureEnvironment("default");
  const { stdout } = await execa(python, [script], {
    input: JSON.stringify({ model, folder, ...textsOf(model), ...asked }),
    env: {
      ...demoVariables(pareHome()),
      PYTHONPATH: [PYTHON_ROOT, ...MODULES].join(":"),
      ...{ HF_HUB_OFFLINE: "1", OMP_NUM_THREADS: "1", TOKENIZERS_PARALLELISM: "false" },
    },
    cwd: folder, // libraries write logs where they are started
    stderr: "inherit",
  });
  // Libraries print on standard output too: the answer is its end.
  const answer = stdout.slice(-MOST_OUTPUT);
  return JSON.parse(answer.slice(answer.lastIndexOf(begins)));
}
