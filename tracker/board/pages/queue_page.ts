import { html } from "hono/html";
import { PRIORITIES } from "../../../core/mod.ts";
import { duration } from "../../show/view/number_text.ts";
import type { BoardJob } from "../board_queue.ts";
import { layout, type Markup } from "./layout.ts";
import { moment, path, studyPath } from "./parts.ts";

/** How a job stands, and why. */
export function jobStands({ state, reason }: BoardJob): string {
  return reason === "" ? state : `${state}: ${reason}`;
}

const ENDED_SHOWN = 20;

function ends({ ends_at, ends_between, estimate_source, progress }: BoardJob): string {
  if (ends_at === null) return "";
  const left = (at: string) => duration(Math.max(0, (Date.parse(at) - Date.now()) / 1000));
  const between = ends_between === null ? "" : ` (${ends_between.map(left).join(" to ")})`;
  const about = estimate_source === "usual" && progress === null ? "perhaps" : "about";
  return `ends in ${about} ${left(ends_at)}${between}`;
}

function button(word: string, job: BoardJob, change: object | null): Markup {
  const [address, method] = change === null
    ? [path("api", "studies", job.study_id), "DELETE"]
    : [path("api", "studies", job.study_id, "job"), "POST"];
  return html`
    <button type="button" data-job="${address}" data-method="${method}"
      data-change="${JSON.stringify(change ?? {})}"
      aria-label="${word} ${job.job_id}">${word}</button>
  `;
}

/** Jobs that wait in one line, around one of them. */
interface Beside {
  readonly above?: BoardJob | undefined;
  readonly below?: BoardJob | undefined;
  /** The one behind that. */
  readonly next?: BoardJob | undefined;
}

/** What a person may do to a job. */
function buttons(job: BoardJob, { above, below, next }: Beside): Markup {
  const held = job.reason.startsWith("held: ");
  return html`<span class="acts">${
    above === undefined ? "" : button("Up", job, { before: above.job_id })
  } ${below === undefined ? "" : button("Down", job, { before: next?.job_id ?? null })} ${
    held ? button("Release", job, { release: true }) : html`
      <button type="button"
        data-hold="${path("api", "studies", job.study_id, "job")}"
        aria-label="Hold ${job.job_id}">Hold</button>
    `
  } ${button("Cancel", job, null)}</span>`;
}

function item(job: BoardJob, beside: Beside): Markup {
  const { job_id, study_id, title, priority, progress, progress_said, engine, criteria } = job;
  const drag = job.section === "queued"
    ? html`
      draggable="true" data-drag="${path("api", "studies", study_id, "job")}"
        data-id="${job_id}" data-priority="${priority}"
    `
    : "";
  const share = progress === null ? "" : html`
    <progress max="1" value="${String(progress)}"
      aria-label="Share of ${job_id} that is done"></progress>
  `;
  const more = [progress_said, job.section === "ended" ? "" : ends(job), engine]
    .filter((one) => one !== null && one !== "");
  const grip = drag === "" ? "" : html`<span class="grip" aria-hidden="true">≡</span>`;
  return html`<li${drag}>${grip}<b>${job_id}</b> <a href="${studyPath(study_id)}"
      draggable="false">${title}</a>
    <small>${priority}</small> ${share}
    <br><small>${jobStands(job)}${more.map((one) => ` · ${one}`)}${
    criteria.map(({ text, verdict }) => ` · ${text}: ${verdict?.replace("_", " ") ?? "not judged"}`)
  }</small>${job.section === "ended" ? "" : buttons(job, beside)}</li>`;
}

function section(id: string, title: string, jobs: readonly BoardJob[]): Markup | string {
  if (jobs.length === 0) return "";
  const beside = (job: BoardJob): Beside => {
    if (job.section !== "queued") return {};
    const line = jobs.filter(({ store }) => store === job.store); // each store's queue is its own
    const at = line.indexOf(job);
    return { above: line[at - 1], below: line[at + 1], next: line[at + 2] };
  };
  return html`
    <section aria-labelledby="${id}">
      <h2 id="${id}">${title}</h2>
      <ol class="jobs">${jobs.map((job) => item(job, beside(job)))}</ol>
    </section>
  `;
}

/** What runs, waits and is blocked, and what ended last. */
export function queuePage(jobs: readonly BoardJob[]): Markup {
  const of = (name: BoardJob["section"]) => jobs.filter((job) => job.section === name);
  const ended = of("ended");
  const empty = html`
    <p class="none">The queue is empty. Put a study in line:</p>
    <pre><code>deno task pare queue add --model demo --dataset demo --max-trials 5</code></pre>
  `;
  return layout({
    title: "Queue",
    at: "queue",
    body: html`<h1>Queue</h1>
<div data-live="queue" data-again="2000">
${jobs.length === 0 ? empty : ""}
${section("running", "Running", of("running"))}
${
      PRIORITIES.map((priority) =>
        section(
          `queued-${priority}`,
          `Queued (${priority})`,
          of("queued").filter((job) => job.priority === priority),
        )
      )
    }
${section("blocked", "Blocked", of("blocked"))}
${section("ended", "Ended", ended.slice(0, ENDED_SHOWN))}
<p><small>As of ${moment(new Date())}.</small></p>
</div>`,
  });
}
