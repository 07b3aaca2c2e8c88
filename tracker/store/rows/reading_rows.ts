import type { CarbonIntensity, JournalRecord } from "../../../core/mod.ts";
import { adds, type Change, moment, type Row } from "./change.ts";

type RecordOf<T extends JournalRecord["type"]> = Extract<JournalRecord, { type: T }>;

/** Memory, CPU and power at a moment of a call. */
export function resourceRows(record: RecordOf<"resources">, position: number): Change[] {
  const { type: _, at, ...figures } = record;
  return adds("resources", [{ ...figures, position, happened_at: moment(at) }]);
}

export function energyRows(record: RecordOf<"energy_read">, position: number): Change[] {
  const { type: _, at, carbon_intensity: carbon, how = null, ...reading } = record;
  return adds("energy_readings", [{
    ...reading,
    how,
    ...carbonColumns(carbon),
    position,
    happened_at: moment(at),
  }]);
}

/** What a kilowatt-hour was taken to emit; NULL in records that do not say. */
export function carbonColumns(carbon: CarbonIntensity | null | undefined): Row {
  return {
    country: carbon == null ? null : carbon.country ?? "world",
    carbon_g_per_kwh: carbon?.g_per_kwh ?? null,
    carbon_year: carbon?.year ?? null,
    carbon_source: carbon?.source ?? null,
  };
}

/** An artifact's layers stand once a metric, however often it was verified. */
export function layerRows(record: RecordOf<"layer_sensitivities">): Change[] {
  const { artifact_id, metric, unit, layers } = record;
  const own = { artifact_id, metric, unit };
  return [
    { op: "forget", tables: ["layer_sensitivities"], where: { artifact_id, metric } },
    ...adds(
      "layer_sensitivities",
      layers.map(({ layer, value }, layer_index) => ({ ...own, layer_index, layer, value })),
    ),
  ];
}

/** What formats cost the layers of an artifact: the last record of a format and scorer counts. */
export function layerScoreRows(record: RecordOf<"layers_scored">, position: number): Change[] {
  const { study_id, artifact_id, seed, layers, imported } = record;
  const own = { study_id, artifact_id, position, seed, program: imported?.program ?? "pare" };
  const pairs = Map.groupBy(layers, ({ format, scorer }) => JSON.stringify([format, scorer]));
  return [...pairs.values()].flatMap((rows) => {
    const { format, scorer } = rows[0]!;
    const where = { study_id, artifact_id, format, scorer };
    return [
      { op: "forget", tables: ["layer_scores"], where },
      ...adds("layer_scores", rows.map((row) => ({ ...own, ...row }))),
    ];
  });
}
