import { type Measurement, type SampleResult, streamRandom } from "../../core/mod.ts";

/** Six in ten are right in the beginning; of those a share `loss` turns wrong. */
export function words(n: number, loss: number): SampleResult[] {
  return Array.from({ length: n }, (_, i) => {
    const random = streamRandom(7, `word ${i}`);
    const right = random() < 0.6 && random() >= loss;
    return sample("words", i, right ? 1 : 0);
  });
}

/** Windows of a text: negative log-likelihood of a token. */
export function texts(n: number, loss: number): SampleResult[] {
  return Array.from({ length: n }, (_, i) => {
    const random = streamRandom(7, `text ${i}`);
    return sample("words_text", i, 2 + random() + loss * (0.5 + random()));
  });
}

export function sample(task: string, i: number, score: number): SampleResult {
  return {
    task,
    sample_id: String(i),
    sample_hash: `${task}-${i}`,
    prompt_hash: `${task}-${i}`,
    score,
    answer: null,
    gold: null,
    log_likelihood: null,
  };
}

export function qualityOf(
  task: string,
  samples: readonly SampleResult[],
  fidelity: string,
): Measurement {
  const scores = samples.filter((one) => one.task === task).map((one) => one.score);
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const text = task === "words_text";
  return {
    ...figure(text ? "perplexity" : "accuracy", text ? Math.exp(mean) : mean, null, 0.01),
    direction: text ? "minimize" : "maximize",
    n: scores.length,
    fidelity,
    task,
    task_version: "1",
  };
}

export function figure(
  metric: string,
  value: number,
  runtime: string | null,
  standard_error: number | null,
): Measurement {
  return {
    metric,
    value,
    unit: "1",
    direction: "minimize",
    n: 5,
    standard_error,
    fidelity: "full",
    provenance: "measured",
    task: null,
    task_version: null,
    slice: null,
    runtime,
    numerics: null,
    device: "cpu",
    method: null,
  };
}
