/** Methods that the bare script knows as well. */
export const METHODS: readonly string[] = ["rtn", "int8", "gptq", "autoround"];
