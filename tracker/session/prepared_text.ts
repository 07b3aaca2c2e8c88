import { replayStudy, type StudyEvent } from "../../core/mod.ts";
import { keepLogIn } from "../lab/runner/keep_log.ts";
import { prepareStudy } from "../lab/runner/prepare_study.ts";
import { type CallRunner, createCallRunner } from "../lab/runner/call_runner.ts";
import type { SessionInput } from "./start_study.ts";
import type { Store } from "../store/store.ts";

/** Who is told, and what ends the work. */
export interface Watched {
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: StudyEvent) => void;
}

/** What runs stages for a study outside of its loop. */
export function runnerBeside(
  { tools, study_id, request }: SessionInput,
  store: Store,
  options: Watched,
): CallRunner {
  return createCallRunner({
    client: tools.client,
    study_id,
    signal: options.signal ?? new AbortController().signal,
    onEvent: options.onEvent ?? (() => {}),
    record: (record) => store.record(record),
    keepLog: keepLogIn(store, study_id),
    timestamp: tools.timestamp,
    stall_minutes: request.stall_minutes,
  });
}

/** What runs stages for a study outside of its loop, and the study's text. */
export async function preparedText(session: SessionInput, store: Store, options: Watched) {
  const { tools, study_id, request, facts, spec } = session;
  const runner = runnerBeside(session, store, options);
  const begun = replayStudy(await store.journalOf(study_id), study_id)?.opened ?? null;
  const { methods: _all, ...rest } = request; // text is drawn whichever methods the study may use
  const ready = await prepareStudy({ ...tools, store }, runner, {
    study_id,
    request: rest,
    spec: begun?.spec ?? spec,
    facts,
    begun: begun?.facts ?? null,
  });
  return { runner, ready };
}
