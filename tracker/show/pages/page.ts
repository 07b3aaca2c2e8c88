import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { PAGE_STYLE } from "./page_style.ts";

/** Text that cannot be taken for markup. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;").replaceAll("'", "&#39;");
}

/** Data that a page's script reads; no text of it can end the element that holds it. */
export function dataElement(id: string, data: unknown): string {
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  return `<script type="application/json" id="${escapeHtml(id)}">${json}</script>`;
}

/** The script of a page with a front, as it is inlined. */
export function frontScript(): string {
  return readFileSync(new URL("./client/front.js", import.meta.url), "utf8");
}

/** The script of a page with a SQL box, as it is inlined. */
export function sqlScript(): string {
  return readFileSync(new URL("./client/sql_box.js", import.meta.url), "utf8");
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
<style>${PAGE_STYLE}</style>
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
