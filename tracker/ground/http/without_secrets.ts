/** Shorter ones are placeholders, such as "EMPTY", or words that an honest answer may hold. */
const LEAST_LETTERS = 12;

/** What stands in for a secret. */
const INSTEAD = "***";

const inPath = (secret: string) => encodeURIComponent(secret).replaceAll("%2F", "/");

/** How a server may say a secret back: as it is, as in an address, and within any text in base64. */
function formsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const encoded = [0, 1, 2].map((before) => {
    const text = btoa(" ".repeat(before) + String.fromCharCode(...bytes));
    // Letters at either end depend on what stands beside the secret.
    return text.slice(
      Math.ceil(before * 8 / 6),
      Math.floor((before + bytes.length) * 8 / 6),
    );
  });
  const forms = [secret, encodeURIComponent(secret), inPath(secret), ...encoded];
  const inAddresses = encoded.map((one) => one.replaceAll("+", "-").replaceAll("/", "_"));
  return [...new Set([...forms, ...inAddresses])];
}

/**
 * What somebody else says without the secrets that were sent to them: they may say them back. Cut a text
 * after this, not before: a part of a secret is not found.
 */
export function withoutSecrets(
  text: string,
  ...secrets: readonly (string | null | undefined)[]
): string {
  return secrets.filter((one) => typeof one === "string").filter((one) =>
    one.length >= LEAST_LETTERS
  )
    .flatMap(formsOf)
    .reduce((left, form) => left.replaceAll(form, INSTEAD), text);
}
