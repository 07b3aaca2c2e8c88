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

/** What a person may do to a job; `above`: the one that it would go before. */
function buttons(job: BoardJob, above: BoardJob | undefined): Markup {
  const held = job.reason.startsWith("held: ");
  return html`<span class="acts">${
    above === undefined ? "" : button("Up", job, { before: above.job_id })
  } ${
    held ? button("Release", job, { release: true }) : html`
      <button type="button"
        data-hold="${path("api", "studies", job.study_id, "job")}"
        aria-label="Hold ${job.job_id}">Hold</button>
    `
  } ${button("Cancel", job, null)}</span>`;
}

function item(job: BoardJob, above?: BoardJob): Markup {
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
  return html`<li${drag}><b>${job_id}</b> <a href="${studyPath(study_id)}"
      draggable="false">${title}</a>
    <small>${priority}</small> ${share}
    <br><small>${jobStands(job)}${more.map((one) => ` · ${one}`)}${
    criteria.map(({ text, verdict }) => ` · ${text}: ${verdict?.replace("_", " ") ?? "not judged"}`)
  }</small>${job.section === "ended" ? "" : buttons(job, above)}</li>`;
}

function section(id: string, title: string, jobs: readonly BoardJob[]): Markup | string {
  if (jobs.length === 0) return "";
  const above = (job: BoardJob, at: number) =>
    jobs.slice(0, at).findLast(({ section, priority }) =>
      section === "queued" && priority === job.priority
    );
  return html`
    <section aria-labelledby="${id}">
      <h2 id="${id}">${title}</h2>
      <ol class="jobs">${jobs.map((job, at) =>
        item(job, job.section === "queued" ? above(job, at) : undefined)
      )}</ol>
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
