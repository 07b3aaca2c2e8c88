/** Where hosted models answer, and how: what a member may name instead of an address. */
export const PROVIDERS = [
  {
    name: "openai",
    base_url: "https://api.openai.com/v1",
    api: "chat",
    key_variable: "OPENAI_API_KEY",
    headers: {},
  },
  {
    name: "openrouter",
    base_url: "https://openrouter.ai/api/v1",
    api: "chat",
    key_variable: "OPENROUTER_API_KEY",
    headers: { "X-Title": "pare" }, // who asks, on its own pages
  },
  {
    name: "anthropic",
    base_url: "https://api.anthropic.com/v1",
    api: "messages",
    key_variable: "ANTHROPIC_API_KEY",
    headers: {},
  },
] as const;

export type Provider = (typeof PROVIDERS)[number];

/** The provider that a member names, or whose address it names; undefined: neither. */
export function providerOf(
  { provider, endpoint }: { readonly provider?: string; readonly endpoint?: string },
): Provider | undefined {
  const host = endpoint !== undefined && URL.canParse(endpoint) ? new URL(endpoint).host : null;
  return PROVIDERS.find(({ name, base_url }) =>
    provider === undefined ? new URL(base_url).host === host : name === provider
  );
}
