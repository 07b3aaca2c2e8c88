import {
  answersDrawn,
  forecastStages,
  isGenerated,
  type Registry,
  type StagesForecast,
  stagesPlan,
} from "../../../core/mod.ts";
import { textTable } from "../terminal/table.ts";
import { bytes, duration } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";

/** What a staged run is expected to take. */
export function forecastOf(
  { request, spec, facts }: Pick<StudyView, "request" | "spec" | "facts">,
  { methods, tasks }: Pick<Registry, "methods" | "tasks">,
): StagesForecast {
  const answers = new Map(
    tasks.filter(isGenerated).map((task) => [task.name, answersDrawn(task, request)]),
  );
  return forecastStages(stagesPlan(request), spec, facts, methods, answers);
}

/** The same in a few lines. */
export function forecastText({ stages, ...forecast }: StagesForecast): string {
  const rows = [
    ["baseline", "–", duration(forecast.baseline_seconds), "–"],
    ...stages.map((one) => [
      one.stage,
      one.unknown === null ? duration(one.compress_seconds) : "–",
      duration(one.evaluate_seconds),
      one.unknown === null ? bytes(one.bytes) : "–",
    ]),
  ];
  const { cost } = forecast;
  const priced = cost === null
    ? "no price_per_hour is given"
    : `${cost.value.toFixed(2)} ${cost.currency}, at most ${cost.most.toFixed(2)} ${cost.currency}`;
  return [
    "Forecast:",
    textTable(["stage", "compress", "evaluate", "by formula"], rows),
    ...stages.flatMap(({ stage, unknown }) => unknown === null ? [] : [`  ${stage}: ${unknown}`]),
    ...forecast.not_judged.map(({ benchmark, reason }) => `  not judged: ${benchmark}: ${reason}`),
    `  time ${duration(forecast.seconds)}, with every retry and all samples at most ` +
    duration(forecast.most_seconds),
    `  storage ${bytes(forecast.storage_bytes)} for what every attempt may leave`,
    `  cost ${priced}`,
    `  reckoned by ${forecast.basis}`,
  ].join("\n");
}
