/** The key that a server may want: from the environment alone. */
export function keyHeader(): Record<string, string> {
  const key = Deno.env.get("OPENAI_API_KEY") ?? "";
  return key === "" ? {} : { authorization: `Bearer ${key}` };
}
