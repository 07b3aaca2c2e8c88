import { LayerScorer, unknownName, UsageError } from "../../../core/mod.ts";
import { parseWhole } from "../../ground/terminal/parse_values.ts";
import { type Lab, openLab } from "../../session/lab.ts";
import type { StudySession } from "../../session/study_session.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import { textTable } from "../../show/terminal/table.ts";
import { number } from "../../show/view/number_text.ts";
import type { LayerSensitivity } from "../../session/study_sensitivity.ts";

/** What `pare sensitivity` may be told. */
export interface SensitivityCommandOptions {
  store?: string;
  dataset?: string;
  calibrationData?: string;
  format?: string[];
  scorer?: string[];
  windows?: string;
  tokens?: string;
  all?: boolean;
  json?: boolean;
}

/** Layers that are printed where nobody asks for all. */
const SHOWN = 20;

function scorersOf(names: readonly string[]): LayerScorer[] {
  return names.map((name) => {
    const parsed = LayerScorer.safeParse(name);
    if (parsed.success) return parsed.data;
    throw new UsageError(
      `Cannot score layers: ${unknownName("--scorer", name, LayerScorer.options)}`,
    );
  });
}

/** The study of this id, as it was opened; else a new one of the model, which is not run. */
export async function sessionOf(
  lab: Lab,
  name: string | undefined,
  { dataset, calibrationData, runtime }: SensitivityCommandOptions & { runtime?: string },
): Promise<StudySession> {
  const known = (await lab.studies()).map(({ study_id }) => study_id);
  if (name === undefined || known.includes(name)) return await lab.resume(name);
  return await lab.open({
    model_name: name,
    dataset: dataset ?? (name === "tiny" ? "tiny" : "demo"),
    ...(calibrationData === undefined ? {} : { calibration_data: calibrationData }),
    ...(runtime === undefined ? {} : { runtime }),
  });
}

/** Layers down, formats across, by one scorer; what loses most in the first format stands first. */
export function sensitivityTable(rows: readonly LayerSensitivity[], shown: number): string {
  const scorer = rows[0]?.scorer;
  const own = rows.filter((row) => row.scorer === scorer);
  const formats = [...new Set(own.map(({ format }) => format))];
  const layers = [...Map.groupBy(own, ({ layer }) => layer)].map(([layer, of]) => ({
    layer,
    values: formats.map((format) => of.find((row) => row.format === format)?.value ?? null),
  }));
  const first = ({ values }: { values: readonly (number | null)[] }) => values[0] ?? -Infinity;
  const ordered = layers.toSorted((a, b) => first(b) - first(a)).slice(0, shown);
  const unit = own[0]?.unit === "1" ? "" : `, ${own[0]?.unit}`;
  const table = textTable(
    ["layer", ...formats],
    ordered.map(({ layer, values }) => [layer, ...values.map((value) => number(value))]),
  );
  const left = layers.length - ordered.length;
  const more = left === 0 ? "" : `\n… and ${left} more that lose less; --all shows them`;
  return `each layer alone in a format, by ${scorer}${unit}\n\n${table}${more}`;
}

/** `pare sensitivity`: what each format would cost each layer of a model. */
export async function sensitivityCommand(
  name: string | undefined,
  options: SensitivityCommandOptions,
): Promise<void> {
  const scorers = scorersOf(options.scorer ?? []);
  const screen = createLiveView(standardScreen(), () => Date.now());
  const whole = (text: string | undefined, flag: string) =>
    text === undefined ? undefined : parseWhole(text, flag, 1);
  const [windows, tokens] = [
    whole(options.windows, "--windows"),
    whole(options.tokens, "--tokens"),
  ];
  await using lab = await openLab({
    chooseRuntimes: "no",
    onSetup: (line) => screen.progressLine(line),
    onEvent: screen.onEvent,
    ...(options.store === undefined ? {} : { store: options.store }),
  });
  const session = await sessionOf(lab, name, options);
  const rows = await session.sensitivity({
    onEvent: screen.onEvent,
    ...(options.format === undefined ? {} : { formats: options.format }),
    ...(scorers.length === 0 ? {} : { scorers }),
    ...(windows === undefined ? {} : { windows }),
    ...(tokens === undefined ? {} : { tokens }),
  });
  screen.finish();
  if (options.json === true) {
    console.log(JSON.stringify(rows, null, 2));
    return;
  }
  console.log(sensitivityTable(rows, options.all === true ? Infinity : SHOWN));
  console.log(
    `\nSELECT * FROM layer_sensitivity WHERE study_id = '${session.study_id}' has every scorer`,
  );
}
