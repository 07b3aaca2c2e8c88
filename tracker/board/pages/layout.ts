import { html } from "hono/html";

/** A piece of a page; what was put into it is escaped. */
export type Markup = ReturnType<typeof html>;

/** A page's parts. */
export interface PageParts {
  readonly title: string;
  readonly body: Markup;
  /** Which entry of the navigation it belongs to. */
  readonly at?: "studies" | "queue" | "compare" | "sql" | "plan";
}

/** The whole page: one landmark each for navigation and content, and a line that tells of events. */
export function layout({ title, body, at }: PageParts): Markup {
  const link = (href: string, name: string, key: PageParts["at"]) =>
    at === key
      ? html`<a href="${href}" aria-current="page">${name}</a>`
      : html`<a href="${href}">${name}</a>`;
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>${title} · pare</title>
        <link rel="stylesheet" href="/assets/page.css">
        <link rel="stylesheet" href="/assets/board.css">
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
        <link rel="modulepreload" href="/assets/front.js">
        <link rel="modulepreload" href="/assets/points.js">
        <script type="module" src="/assets/board.js"></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <nav aria-label="Main">
    <a class="home" href="/">pare</a>
    ${link("/", "Studies", "studies")}
    ${link("/queue", "Queue", "queue")}
    ${link("/compare", "Compare", "compare")}
    ${link("/sql", "SQL", "sql")}
    ${link("/plan", "Plan", "plan")}
          </nav>
        </header>
        <main id="main" tabindex="-1">
    ${body}
        </main>
        <p id="said" class="unseen" role="status" aria-live="polite"></p>
      </body>
    </html>
  `;
}

/** A refusal as a page: the same sentence that a program gets. */
export function errorPage(status: number, sentence: string): Markup {
  return layout({
    title: `${status}`,
    body: html`
      <h1>${status === 404 ? "Not found" : "Not done"}</h1>
      <p class="refusal">${sentence}</p>
      <p><a href="/">All studies</a></p>
    `,
  });
}
