import type { JournalRecord, RunRequest, StudyEvent } from "../../../core/mod.ts";
import { plotOf } from "../reports_of_study.ts";
import { type Broadcast, DELIVERY_MS } from "../../ground/terminal/kernel.ts";
import { followProgress, progressText } from "../view/study_progress.ts";
import type { StudyView } from "../view/study_view.ts";
import { fittingSvg, pngOf } from "./figure.ts";
import { liveCell, livingDisplay } from "./live_cell.ts";

/** What a cell shows of a study while it runs. */
export interface LiveStudy {
  onEvent(event: StudyEvent): void;
  /** Draws what is left to draw and waits until the notebook has it. */
  finish(): Promise<void>;
}

/** Where a live display takes a study from. */
export interface LiveSource {
  readonly request: RunRequest;
  /** Records of earlier runs; empty: it is new. */
  readonly before: readonly JournalRecord[];
  readonly view: () => Promise<StudyView>;
}

/** Milliseconds between two plots at least. */
const PLOT_MS = 2000;

/** Draws the front with the trials so far in one display; a plot that fails is left out. */
function movingPlot(broadcast: Broadcast, now: () => number, { view }: LiveSource) {
  const show = livingDisplay(broadcast);
  let due = false;
  let last = -Infinity;
  let drawing: Promise<void> | null = null;
  const draw = async (final: boolean) => {
    due = false;
    last = now();
    try {
      const seen = await view();
      if (seen.rows.length === 0) return;
      const svg = fittingSvg(plotOf(seen));
      await show({
        "image/svg+xml": svg,
        // The picture for a notebook that is opened again: of the last drawing alone, as it takes time.
        ...(final ? pngOf(svg) : {}),
        "text/plain": `Pareto plot of ${seen.study_id}`,
      });
    } catch {
      return; // the study goes on; its front can be drawn when it has ended
    }
  };
  return {
    due: () => void (due = true),
    tick() {
      if (!due || drawing !== null || now() - last < PLOT_MS) return;
      drawing = draw(false).finally(() => drawing = null);
    },
    async finish() {
      await drawing;
      if (last > -Infinity || due) await draw(true);
    },
  };
}

/**
 * Progress of a whole study, and its front that moves, both drawn in their place. Nothing is drawn
 * while a trial's speed is measured: the drawing would slow it down.
 */
export function liveStudy(
  source: LiveSource,
  broadcast: Broadcast,
  now: () => number = () => Date.now(),
  wait_ms = DELIVERY_MS,
): LiveStudy {
  const { onEvent: follow, progress } = followProgress(source.request, now, source.before);
  const cell = liveCell(broadcast, now, () => progressText(progress()));
  const plot = movingPlot(broadcast, now, source);
  let timing = false;
  return {
    onEvent(event) {
      follow(event);
      if (event.event === "phase") timing = event.phase === "speed";
      cell.onEvent(event);
      if (event.event === "record" && event.record.type === "trial_closed") {
        timing = false;
        plot.due();
      }
      if (!timing) plot.tick();
    },
    async finish() {
      cell.finish();
      await plot.finish();
      await new Promise((resolve) => setTimeout(resolve, wait_ms));
    },
  };
}
