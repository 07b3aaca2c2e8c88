import type { Runtime } from "../../contract/runtime.ts";
import { UsageError } from "../../errors.ts";
import type { Endpoint } from "../../schemas/endpoint.ts";
import type { Facts } from "../../schemas/facts.ts";
import type { RunRequest } from "../../schemas/request.ts";
import type { Spec } from "../../schemas/spec.ts";
import { inferSpec, type SpecPlugins } from "../../spec/infer_spec.ts";
import { rungsOf } from "../../schemas/rungs.ts";

/** What answers where nothing is compressed and no speed is measured. */
function answering(name: string): Runtime {
  return {
    kind: "runtime",
    name,
    summary: "",
    needs: { environment: "default", gpu: false },
    form: null,
    formats: "",
    supports: () => ({ ok: true }),
    holds: () => ({ ok: true }),
    preference: 10,
  };
}

/** The spec of a study that only evaluates: its tasks and samples; no method and no search. */
export function evaluationSpec(
  request: RunRequest,
  endpoint: Endpoint | undefined,
  facts: Facts,
  plugins: SpecPlugins,
): Spec {
  const runtimes = [answering(endpoint === undefined ? "in process" : "endpoint")];
  const spec = inferSpec(request, facts, { ...plugins, methods: [], runtimes });
  if (endpoint === undefined || endpoint.tokenizer_dir !== null) return spec;
  return withoutWindows(spec, plugins, request.dataset);
}

/** Perplexity is over windows of tokens, which cannot be cut without the model's tokenizer. */
function withoutWindows(spec: Spec, { tasks }: SpecPlugins, dataset: string): Spec {
  const windowed = new Set(
    tasks.filter((one) => one.window_tokens !== null).map(({ name }) => name),
  );
  const left = spec.tasks.filter(({ task }) => !windowed.has(task));
  if (left.length === spec.tasks.length) return spec;
  const reason = "its windows of tokens need the model's tokenizer: give --tokenizer";
  if (left.length === 0) {
    throw new UsageError(`Cannot evaluate "${dataset}" on an endpoint: ${reason}`);
  }
  const missing = spec.tasks.filter(({ task }) => windowed.has(task));
  return {
    ...spec,
    tasks: left,
    rungs: rungsOf(spec.rungs, left),
    missing_tasks: [...spec.missing_tasks, ...missing.map(({ task }) => ({ task, reason }))],
  };
}
