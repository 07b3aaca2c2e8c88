/** Names and addresses of this machine: what a network's proxy takes for its own. */
const HERE = ["localhost", "127.0.0.1", "::1"];
const PROXIES = /^(https?|all)_proxy$/i;

/**
 * Where a proxy is set, requests to this machine go past it, here and in processes that are started: pare's
 * own servers, a Ray head or a served model are not behind it, and no client leaves them out by itself.
 */
export function passProxyHere(): void {
  const variables = Deno.env.toObject();
  const proxies = Object.keys(variables).filter((name) =>
    PROXIES.test(name) && variables[name] !== ""
  );
  if (proxies.length === 0) return;
  const past = ["NO_PROXY", "no_proxy"].flatMap((name) => (variables[name] ?? "").split(","))
    .map((one) => one.trim()).filter((one) => one !== "");
  if (past.includes("*")) { // which Deno does not know
    for (const name of proxies) Deno.env.delete(name);
    return;
  }
  // Some clients read the one name, and some the other.
  for (const name of ["NO_PROXY", "no_proxy"]) {
    Deno.env.set(name, [...new Set([...past, ...HERE])].join(","));
  }
}
