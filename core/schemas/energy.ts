import { z } from "zod";

/** What a reader of energy counted during a piece of work. */
export const EnergyReading = z.strictObject({
  reader: z.string().describe("nvml-counter, nvml-power, rapl or estimate"),
  joules: z.number().describe("of the work, idle power subtracted where the reader counts it"),
  seconds: z.number().describe("that the work took"),
  idle_watts: z.number().describe("subtracted; 0 for an estimate, which counts work alone"),
  tokens: z.int().describe("generated in it"),
});
export type EnergyReading = z.infer<typeof EnergyReading>;
