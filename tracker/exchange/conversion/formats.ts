/** Formats of files, by the names that a user gives; the command line reads this file at every start. */
export const CONVERSIONS = [
  "gptq",
  "awq",
  "auto-round",
  "compressed-tensors",
  "gguf",
  "openvino",
  "bitsandbytes",
] as const;

/** The environment that a format is written and read back in, where it is not the default one. */
export const CONVERSION_ENVIRONMENT: Readonly<Record<string, string>> = {
  openvino: "openvino_export",
};

/** The environment of the program that a format is for, which computes the files where it is set up. */
export const PROGRAM_ENVIRONMENT: Readonly<Record<string, string>> = { gguf: "llama_cpp" };

/** Formats that are asked for and not written, with the reason and what to take. */
export const NOT_WRITTEN: Readonly<Record<string, string>> = {
  torchao:
    "its layout is that of the tensor classes of one release of torchao, flattened by that " +
    "release, and no environment of pare holds torchao, so that nothing could be read back: " +
    "take compressed-tensors for integers (transformers, vLLM) or bitsandbytes for NF4",
};
