/** What the methods share that store codes into a table of numbers. */
import {
  type Change,
  type Facts,
  type HintAbout,
  type Leaves,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";
import { tableBytes, type TableForm } from "../forms/table.ts";
import { modelMemory, shapesOf } from "./_groups.ts";
import { partsOf, targetedWeights, type Targets } from "./_targets.ts";

/** Weights looked up a second on one core: 25 million of SmolLM2-135M's, halved. */
const WEIGHTS_A_SECOND = 12e6;
const START_SECONDS = 3;
/** Weights of a layer keep most of their direction in 4 bits; those of another layer have about 0. */
const LEAST_COSINE = 0.5;

/** No runtime here multiplies by such codes. */
const EMULATED = "the device executes no such numbers: they are emulated by floats, decoded when " +
  "the model is loaded, which take a float's bytes in memory and run no faster";

/** What rounding these parts to this form leaves. */
export function leavesTable(targets: Targets, form: TableForm, facts: Facts): Leaves {
  const parts = partsOf(targets);
  const changes = parts.map((part): Change => ({
    ...{ part, effect: "rounds", form, least_cosine: LEAST_COSINE },
    no_faster: EMULATED,
  }));
  const bytes = { ...weightBytes(facts.model) };
  for (const part of parts) bytes[part] = tableBytes(form, shapesOf(part, facts));
  return { changes, model: withWeightBytes(facts.model, bytes) };
}

export function tableHint(about: HintAbout): string {
  return about === "quality" ? "Take smaller blocks or 8 bits" : "Take 4 bits or larger blocks";
}

export function tableSeconds(targets: Targets, facts: Facts): number {
  return START_SECONDS + targetedWeights(targets, facts) / WEIGHTS_A_SECOND;
}

/** The matrix in work, and what is done: a byte a weight; the rest stays on disk. */
export function tableMemory(facts: Facts): number {
  return modelMemory(facts, 1);
}
