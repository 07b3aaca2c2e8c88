import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { escapeHtml } from "./client/table.js";

/** A file that browsers get, as it is or as a part of a page. */
export function clientFile(name: string): URL {
  return new URL(`./client/${name}`, import.meta.url);
}

const clientText = (name: string) => readFileSync(clientFile(name), "utf8");

/** Data that a page's script reads; no text of it can end the element that holds it. */
export function dataElement(id: string, data: unknown): string {
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  return `<script type="application/json" id="${escapeHtml(id)}">${json}</script>`;
}

const IMPORT = /^import \{[^}]*\} from "\.\/(\w+\.js)";\n/gm;

/** Files with what they import before them, each once. */
function withImports(names: readonly string[], known = new Set<string>()): string[] {
  return names.flatMap((name) => {
    if (known.has(name)) return [];
    known.add(name);
    const text = clientText(name);
    const imported = [...text.matchAll(IMPORT)].map(([, other]) => other!);
    return [...withImports(imported, known), text.replaceAll(IMPORT, "")];
  });
}

/** Files of the client as one script that a page inlines: it needs no other file. */
export function pageScript(...names: readonly string[]): string {
  return withImports(names).join("\n").replaceAll(/^export /gm, "");
}

/** A script's hash, as a content security policy names it. */
export function scriptHash(script: string): string {
  return `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
}

/** What a page is made of. */
export interface Page {
  readonly title: string;
  readonly body: string;
  /** Run as modules once the page is read; absent: none may run. */
  readonly scripts?: readonly string[];
  /** More of the policy, such as `connect-src blob:`. */
  readonly policy?: readonly string[];
}

/**
 * A page that needs no other file and no server. Its policy lets no script run but those given, by
 * their hashes, and nothing be fetched: a script that came in with a name or a note does nothing.
 */
export function pageHtml({ title, body, scripts = [], policy = [] }: Page): string {
  const may = scripts.length === 0 ? "'none'" : scripts.map(scriptHash).join(" ");
  const rules = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "img-src data:",
    `script-src ${may}${
      policy.filter((one) => one.startsWith("script-src ")).map((one) =>
        one.slice("script-src".length)
      ).join("")
    }`,
    "base-uri 'none'",
    "form-action 'none'",
    ...policy.filter((one) => !one.startsWith("script-src ")),
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${rules}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${clientText("page.css")}${clientText("report.css")}</style>
</head>
<body>
<main>
${body}
</main>
${scripts.map((script) => `<script type="module">${script}</script>`).join("\n")}
</body>
</html>
`;
}
