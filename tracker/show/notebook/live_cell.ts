import type { StudyEvent } from "../../../core/mod.ts";
import { escapeHtml } from "../pages/client/table.js";
import { type Broadcast, kernelBroadcast, type Media } from "../../ground/terminal/kernel.ts";
import { phaseLine, progressLine, waitingLine } from "../terminal/live_view.ts";
import { recipeText } from "../view/trial_rows.ts";

/** Outside a kernel nothing is shown. */
const NOWHERE: Broadcast = () => Promise.resolve();

/** One output of a cell that is drawn again in its place. */
export function livingDisplay(broadcast: Broadcast): (data: Media) => Promise<void> {
  const display_id = crypto.randomUUID();
  let first = true;
  return (data) => {
    const type = first ? "display_data" : "update_display_data";
    first = false;
    return broadcast(type, { data, metadata: {}, transient: { display_id } });
  };
}

/** Milliseconds between two drawings of what moves. */
const REDRAW_MS = 500;

/**
 * A cell's live display: give its `onEvent` to `run` and one output moves with the study, finished
 * trials above, the running step below. `now` is in milliseconds, `head` what stands first.
 */
export function liveCell(
  broadcast: Broadcast = kernelBroadcast() ?? NOWHERE,
  now: () => number = () => Date.now(),
  head: () => string | null = () => null,
): { onEvent: (event: StudyEvent) => void; finish: () => void } {
  const draw = livingDisplay(broadcast);
  const finished: string[] = [];
  /** What each trial does, and since when, by its id. */
  const running = new Map<string, string>();
  const steps = new Map<string, { label: string; startedAt: number; from: number }>();
  let lastShown = -Infinity;

  const show = (force: boolean) => {
    if (!force && now() - lastShown < REDRAW_MS) return;
    lastShown = now();
    const first = head();
    const text = [...(first === null ? [] : [first]), ...finished, ...running.values()].join("\n");
    void draw({ "text/plain": text, "text/html": `<pre>${escapeHtml(text)}</pre>` });
  };

  return {
    onEvent(event) {
      if (event.event === "progress") {
        const before = steps.get(event.trial_id);
        const step = before?.label === event.label
          ? before
          : { label: event.label, startedAt: now(), from: event.done };
        steps.set(event.trial_id, step);
        const seconds = (now() - step.startedAt) / 1000;
        const of = event.trial_id.split("/").at(-1);
        running.set(event.trial_id, `${of} ${progressLine(event, seconds, step.from)}`);
        show(false);
      } else if (event.event === "waiting") {
        running.set(event.trial_id, waitingLine(event));
        show(true);
      } else if (event.event === "phase") {
        running.set(event.trial_id, phaseLine(event));
        show(false);
      } else if (event.record.type === "trial_closed") {
        const { trial } = event.record;
        finished.push(`${trial.trial_id}  ${recipeText(trial)}: ${trial.state}`);
        running.delete(trial.trial_id);
        show(true);
      } else if (event.record.type === "episode_closed") {
        running.delete(event.record.episode.trial_id ?? ""); // one that is held
      }
    },
    finish() {
      running.clear();
      if (lastShown > -Infinity) show(true);
    },
  };
}
