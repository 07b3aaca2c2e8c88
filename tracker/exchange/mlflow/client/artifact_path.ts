import { UsageError } from "../../../../core/mod.ts";

const COMPONENT_BYTES = 255;
const PATH_BYTES = 1_000;
const DECODINGS = 5;

function decodedOnce(text: string): string {
  return text.replaceAll(
    /%([0-9a-f]{2})/gi,
    (_, hex: string) => String.fromCharCode(parseInt(hex, 16)),
  );
}

/** What a server might make of a path that it decodes again and again. */
function decodings(path: string): string[] {
  const forms = [path];
  for (let i = 0; i < DECODINGS; i++) {
    const next = decodedOnce(forms.at(-1)!);
    if (next === forms.at(-1)) break;
    forms.push(next);
  }
  return forms;
}

function wrong(path: string): string | null {
  if (path === "") return "it is empty";
  // deno-lint-ignore no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(path)) return "it holds a control character";
  if (path.includes("\\")) return "it holds a backslash";
  if (path.startsWith("/") || /^[a-z]:/i.test(path)) return "it is absolute";
  const parts = path.split("/");
  if (parts.includes("..")) return "it would leave the run's folder";
  if (parts.includes(".") || parts.includes("")) return "it is not in its simplest form";
  return null;
}

/**
 * Refuses an artifact's path that could leave the run's folder on any server, however often it
 * decodes, or that no file system takes.
 *
 * @throws UsageError with the path and the reason; before any request.
 */
export function checkArtifactPath(path: string): void {
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  const long = bytes(path) > PATH_BYTES ||
    path.split("/").some((part) => bytes(part) > COMPONENT_BYTES);
  const reason = long
    ? `it is too long: ${COMPONENT_BYTES} bytes per part and ${PATH_BYTES} in all are allowed`
    : decodings(path).map(wrong).find((one) => one !== null);
  if (reason === undefined) return;
  const shown = JSON.stringify(path.length > 80 ? `${path.slice(0, 80)}…` : path);
  throw new UsageError(`Cannot use ${shown} as an artifact's path: ${reason}`);
}

/** The path as part of an address. */
export function encodedPath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
