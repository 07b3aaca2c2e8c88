/** Formats of files, by the names that a user gives; the command line reads this file at every start. */
export const CONVERSIONS = [
  "gptq",
  "awq",
  "auto-round",
  "compressed-tensors",
  "gguf",
] as const;
