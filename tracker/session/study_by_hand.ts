import { openByHand, type StudyByHand, type StudyResult } from "../../core/mod.ts";
import { type SessionInput, startStudy, type StudyCompany } from "./start_study.ts";

type Watcher = Pick<StudyCompany, "onEvent">;

/** A study of a lab, driven by hand: it has the store until it is closed. */
export interface LabStudyByHand extends StudyByHand {
  /** Shows from now on what happens, in place of who was shown it before: a cell's `liveCell()`. */
  watch(watcher: Watcher): void;
  /** Whether it takes another call: it was neither closed nor cancelled. */
  isOpen(): boolean;
}

/** Opens a study of a lab by hand, or takes it up. */
export async function openLabStudyByHand(
  session: SessionInput,
  company: StudyCompany,
): Promise<LabStudyByHand> {
  const stop = new AbortController();
  let watcher: Watcher = company;
  let open: (StudyByHand & { close(): Promise<StudyResult> }) | null = null;
  const inUse = await session.store.use({
    study_id: session.study_id,
    async end() {
      stop.abort();
      await (open === null ? inUse[Symbol.asyncDispose]() : open.close());
    },
  });
  const started = await startStudy(session, inUse, {
    ...company,
    signal: AbortSignal.any([company.signal, stop.signal]),
    onEvent: (event) => watcher.onEvent(event),
  });
  const study = await openByHand(started.input, started.ports).catch(async (error: unknown) => {
    await started.end(false);
    throw error;
  });
  let closing: Promise<StudyResult> | null = null;
  const end = (how: () => Promise<StudyResult>) =>
    closing ??= how().finally(() => started.end(!stop.signal.aborted));
  const close = () => end(() => study.close());
  open = {
    ...study,
    close,
    leave: () => end(() => study.leave()),
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
  return {
    ...open,
    watch: (next) => void (watcher = next),
    isOpen: () => closing === null && !started.ports.signal.aborted,
  };
}
