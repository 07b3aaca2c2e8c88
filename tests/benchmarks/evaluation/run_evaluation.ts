import { execa } from "execa";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { WireTask } from "../../../core/mod.ts";
import { demoVariables, ensureDemoModel } from "../../../python-backends/demo_model.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { pareHome, PYTHON_ROOT } from "../../../python-backends/home.ts";

const SCRIPT = fileURLToPath(new URL("./measure_evaluation.py", import.meta.url));

/** One task of the benchmark. */
export interface AskedTask {
  /** Its own name here: a task may be asked twice, with other examples. */
  readonly name: string;
  readonly task: WireTask;
  readonly samples: number;
  /** Over so many of its groups, such as MMLU's subjects; null: evenly over its rows. */
  readonly groups: number | null;
  /** Whether it takes part in the proxy and full evaluation. */
  readonly proxy: boolean;
}

/** What measure_evaluation.py reads. */
export interface EvaluationRequest {
  readonly model: string;
  readonly threads: number;
  readonly own_batch_size: number;
  /** Tried by lm-eval; the fastest counts. */
  readonly batch_sizes: readonly number[];
  readonly repeats: number;
  readonly tasks: readonly AskedTask[];
}

/** Both sides' passes over one task. */
export interface ComparedTask {
  readonly samples: number;
  readonly seconds: readonly number[];
  readonly plain_seconds: readonly number[];
  readonly plain_batch_size: number;
  /** Seconds of lm-eval's first pass by batch size. */
  readonly tried: Record<string, number>;
  /** Samples whose scores differ. */
  readonly unequal: number;
  readonly largest_difference: number;
  readonly value: number;
  readonly plain_value: number;
}

/** One evaluation stage: its seconds with the model's load, its requests, those of them known. */
export interface StageCost {
  readonly seconds: number;
  readonly requests: number;
  readonly reused_requests: number;
  readonly values: readonly number[];
}

/** A full evaluation alone; a proxy of half its samples, and the full one after it. */
export interface ProxyCost {
  readonly alone: StageCost;
  readonly proxy: StageCost;
  readonly full: StageCost;
}

/** What measure_evaluation.py writes. */
export interface EvaluationResult {
  readonly tasks: Record<string, ComparedTask>;
  /** Null: no task takes part. */
  readonly proxy: ProxyCost | null;
}

/** Runs both evaluators in one Python process, its lines shown. */
export async function measureEvaluation(request: EvaluationRequest): Promise<EvaluationResult> {
  const { python } = await ensureEnvironment("default");
  if (request.model === "demo") await ensureDemoModel();
  const folder = await Deno.makeTempDir({ prefix: "bench-evaluation-" });
  try {
    const [asked, told] = [join(folder, "request.json"), join(folder, "result.json")];
    await writeFile(asked, JSON.stringify(request));
    const measuring = execa(python, [SCRIPT, asked, told], {
      cwd: folder,
      env: {
        ...demoVariables(pareHome()),
        HF_HUB_OFFLINE: "1",
        HF_HUB_DISABLE_TELEMETRY: "1",
        HF_DATASETS_CACHE: join(folder, "datasets"),
        HF_DATASETS_DISABLE_PROGRESS_BARS: "1",
        LMEVAL_LOG_LEVEL: "ERROR",
        TQDM_DISABLE: "1",
        OMP_NUM_THREADS: String(request.threads),
        PYTHONNOUSERSITE: "1",
        PYTHONPATH: PYTHON_ROOT,
      },
      reject: false,
      stdin: "ignore",
    });
    for await (const line of measuring) console.error(`bench: ${line}`);
    const run = await measuring;
    if (run.failed) {
      const words = run.stderr.trimEnd().split("\n").slice(-12).join("\n");
      throw new Error(`Cannot measure the evaluation:\n${words}`);
    }
    return JSON.parse(await readFile(told, "utf8"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
