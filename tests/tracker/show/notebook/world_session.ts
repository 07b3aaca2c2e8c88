/** A session over the simulated world: real records and a real view, and no process. */
import { checkRecipe, openByHand, runStudy, type StudyInput } from "../../../../core/mod.ts";
import { openSession, type StudySession } from "../../../../tracker/session/study_session.ts";
import type { StudyCompany } from "../../../../tracker/session/start_study.ts";
import { DISPLAY, type Media } from "../../../../tracker/ground/terminal/kernel.ts";
import { buildView } from "../../../../tracker/show/view/build_view.ts";
import { historyOf, samplesIn, type World, world } from "../../../core/study_world.ts";

/** A message that a kernel would send. */
export interface Sent {
  readonly type: string;
  readonly data: Media;
  readonly display_id: string | undefined;
}

export interface WorldSession {
  readonly session: StudySession;
  readonly world: World;
  /** How often the study was opened. */
  readonly opened: () => number;
}

/** The session of a study; `sent`: where a kernel's messages go, absent: there is no kernel. */
export function worldSession(
  asked: Parameters<typeof world>[0] = { max_trials: 3 },
  sent?: Sent[],
): WorldSession {
  const w = world(asked);
  const input = w.input();
  let opened = 0;
  const portsOf = ({ ask, signal, onEvent }: StudyCompany) => {
    opened++;
    const more: Partial<StudyInput> = w.records.length === 0 ? {} : { history: historyOf(w) };
    const any = AbortSignal.any([signal, w.abort.signal]);
    return [w.input({ ...more, onEvent }), { ...w.ports, ask, signal: any }] as const;
  };
  const view = () => buildView(input.study_id, w.records, samplesIn(w));
  const broadcast = sent === undefined ? null : (type: string, content: object) => {
    const { data, transient } = content as { data: Media; transient?: { display_id?: string } };
    sent.push({ type, data, display_id: transient?.display_id });
    return Promise.resolve();
  };
  const session = openSession({
    study_id: input.study_id,
    request: input.request,
    facts: input.facts,
    spec: input.spec,
    records: () => Promise.resolve(w.records),
    view,
    sensitivity: () => Promise.resolve([]),
    importScores: () => Promise.reject(new Error("this world scores no layers")),
    mix: () => Promise.reject(new Error("this world keeps no layers")),
    caches: () => Promise.reject(new Error("this world runs no models")),
    report: () => Promise.reject(new Error("this world has no store")),
    checkRecipe: (actions) => void checkRecipe(actions, input),
    run: (company) => runStudy(...portsOf(company)),
    async openByHand(company) {
      const [own, ports] = portsOf(company);
      let tell = company.onEvent;
      const study = await openByHand({ ...own, onEvent: (event) => tell(event) }, ports);
      let open = true;
      const ended = <T>(work: Promise<T>) => {
        open = false;
        return work;
      };
      return {
        ...study,
        close: () => ended(study.close()),
        leave: () => ended(study.leave()),
        watch: ({ onEvent }) => void (tell = onEvent),
        isOpen: () => open && !ports.signal.aborted,
      };
    },
  }, broadcast);
  return { session, world: w, opened: () => opened };
}

/** What a cell shows of a value. */
export function mediaOf(value: unknown): Promise<Media> {
  return (value as Record<symbol, () => Promise<Media>>)[DISPLAY]!();
}
