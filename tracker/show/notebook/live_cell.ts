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
  let step = { label: "", startedAt: 0, from: 0 };
  let running = "";
  let lastShown = -Infinity;

  const show = (force: boolean) => {
    if (!force && now() - lastShown < REDRAW_MS) return;
    lastShown = now();
    const first = head();
    const text = [...(first === null ? [] : [first]), ...finished, running].join("\n");
    void draw({ "text/plain": text, "text/html": `<pre>${escapeHtml(text)}</pre>` });
  };

  return {
    onEvent(event) {
      if (event.event === "progress") {
        if (event.label !== step.label) {
          step = { label: event.label, startedAt: now(), from: event.done };
        }
        running = `${event.trial_id.split("/").at(-1)} ${
          progressLine(event, (now() - step.startedAt) / 1000, step.from)
        }`;
        show(false);
      } else if (event.event === "waiting") {
        running = waitingLine(event);
        show(true);
      } else if (event.event === "phase") {
        running = phaseLine(event);
        show(false);
      } else if (event.record.type === "trial_closed") {
        const { trial } = event.record;
        finished.push(`${trial.trial_id}  ${recipeText(trial)}: ${trial.state}`);
        running = "";
        show(true);
      }
    },
    finish() {
      running = "";
      if (lastShown > -Infinity) show(true);
    },
  };
}
