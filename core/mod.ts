/** The public door of the core: nothing outside imports past it. */
export * from "./contract/knobs.ts";
export * from "./contract/plugin.ts";
export * from "./errors.ts";
export * from "./ports.ts";
export * from "./schemas/action.ts";
export * from "./schemas/artifact.ts";
export * from "./schemas/facts.ts";
export * from "./schemas/failure.ts";
export * from "./schemas/journal.ts";
export * from "./schemas/measurement.ts";
export * from "./schemas/request.ts";
export * from "./schemas/spec.ts";
export * from "./schemas/trial.ts";
export * from "./schemas/wire.ts";
