import { withoutSecrets } from "../ground/http/without_secrets.ts";

const ownKey = () => Deno.env.get("OPENAI_API_KEY") ?? "";

/** The key that a server may want: from the environment alone. */
export function keyHeader(): Record<string, string> {
  const key = ownKey();
  return key === "" ? {} : { authorization: `Bearer ${key}` };
}

/** What a server says, without the key that it was sent. */
export function withoutKey(text: string): string {
  return withoutSecrets(text, ownKey());
}
