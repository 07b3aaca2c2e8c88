import { z } from "zod";

/** What a kilowatt-hour of electricity emits, mean of a year. */
export const CarbonIntensity = z.strictObject({
  country: z.string().nullable().describe("ISO 3166-1 alpha-3; null: the world's mean"),
  g_per_kwh: z.number(),
  year: z.int(),
  source: z.string(),
});
export type CarbonIntensity = z.infer<typeof CarbonIntensity>;

/** What an estimate of energy counts with: watts of one busy thread, and where they are from. */
export const CpuPower = z.strictObject({ watts_per_thread: z.number(), source: z.string() });
export type CpuPower = z.infer<typeof CpuPower>;

/** What a reader of energy counted during a piece of work. */
export const EnergyReading = z.strictObject({
  reader: z.string().describe("nvml-counter, nvml-power, rapl or estimate"),
  joules: z.number().describe("of the work, idle power subtracted where the reader counts it"),
  seconds: z.number().describe("that the work took"),
  idle_watts: z.number().describe("subtracted; 0 for an estimate, which counts work alone"),
  tokens: z.int().describe("generated in it"),
  how: z.string().optional().describe("what the reader counts; absent in old records"),
  carbon_intensity: CarbonIntensity.nullable().optional().describe("of the electricity"),
});
export type EnergyReading = z.infer<typeof EnergyReading>;
