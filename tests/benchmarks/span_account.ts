import type { JournalRecord, Span, Trial } from "../../core/mod.ts";

/** What a process of a trial did, told by the spans that only it has. */
export type StageKind =
  | "apply"
  | "verify"
  | "evaluate"
  | "prove"
  | "speed"
  | "export"
  | "make"
  | "broken";

export interface StageSpans {
  readonly stage: StageKind;
  readonly spans: readonly Span[];
}

/** Spans that give a stage away, in this order of precedence. */
const SIGNS: readonly (readonly [string, StageKind])[] = [
  ["prove", "prove"],
  ["export", "export"],
  ["evaluate", "evaluate"],
  ["speed", "speed"],
  ["bandwidth", "speed"],
  ["verify", "verify"],
  ["quantize", "apply"],
  ["write", "apply"],
  ["read", "apply"],
  ["write_gguf", "make"],
  ["logits", "prove"],
];

/** A trial's spans by the process that they were spent in: each process begins with `start`. */
export function stagesOf(spans: readonly Span[]): StageSpans[] {
  const groups: Span[][] = [];
  for (const span of spans) {
    if (span.name === "loop") continue; // the rest of the trial's time, not a process
    if (span.name === "start" || groups.length === 0) groups.push([]);
    groups.at(-1)!.push(span);
  }
  return groups.map((group) => {
    const names = new Set(group.map(({ name }) => name));
    const sign = SIGNS.find(([name]) => names.has(name));
    // A process that ended before its first step has no span to tell it by.
    return { stage: sign?.[1] ?? "broken", spans: group };
  });
}

/** Where a study's wall time went, in seconds. The parts add up to `total`. */
export interface Account {
  readonly total: number;
  /** Libraries' calls and imports: compressing, evaluating, generating. */
  readonly library: number;
  /** Checking what was written: reload and compare, and the proof of the runtime's graph. */
  readonly verification: number;
  /** The architecture's graph, exported once and kept. */
  readonly exported: number;
  /** Everything else, `total` less the three above. */
  readonly outside: number;
  /** `outside` over `total` less verification. */
  readonly share: number;
  /** What `outside` is made of, largest first. */
  readonly parts: readonly Part[];
  /** What `library` is made of, largest first. */
  readonly libraries: readonly Part[];
}

export interface Part {
  readonly name: string;
  readonly seconds: number;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const secondsOf = (spans: readonly Span[]) => sum(spans.map(({ seconds }) => seconds));

/** Adds up equal names; the largest first. */
export function totals(parts: readonly Part[]): Part[] {
  const found = new Map<string, number>();
  for (const { name, seconds } of parts) found.set(name, (found.get(name) ?? 0) + seconds);
  return [...found].map(([name, seconds]) => ({ name, seconds }))
    .sort((a, b) => b.seconds - a.seconds);
}

/** Seconds that a study ran, from opening or resuming it to the last record before a pause. */
export function wallSeconds(records: readonly JournalRecord[]): number {
  let seconds = 0;
  let opened: number | undefined;
  let last = 0;
  for (const { type, at } of records) {
    const time = Date.parse(at);
    if (type === "study_opened" || type === "study_resumed") {
      if (opened !== undefined) seconds += (last - opened) / 1000;
      opened = time;
    }
    last = time;
  }
  return opened === undefined ? 0 : seconds + (last - opened) / 1000;
}

/** The account of a study, from its journal and its trials' own spans. */
export function accountOf(records: readonly JournalRecord[], trials: readonly Trial[]): Account {
  const total = wallSeconds(records);
  const stages = trials.flatMap(({ spans }) => stagesOf(spans));
  const of = (...kinds: StageKind[]) =>
    stages.filter(({ stage }) => kinds.includes(stage)).flatMap(({ spans }) => spans);
  const verification = secondsOf(of("verify", "prove"));
  const exported = secondsOf(of("export"));
  const named = stages.filter(({ stage }) =>
    ["apply", "evaluate", "speed", "make", "broken"].includes(stage)
  )
    .flatMap(({ stage, spans }) =>
      spans.map((span) => ({ ...span, name: `${stage}: ${span.name}` }))
    );
  const libraries = named.filter((span) => span.library);
  const library = secondsOf(libraries);
  const own = named.filter((span) => !span.library);
  const outside = total - library - verification - exported;
  const unnamed = { name: "in no span", seconds: outside - secondsOf(own) };
  return {
    total,
    library,
    verification,
    exported,
    outside,
    share: outside / (total - verification),
    parts: totals([...own, unnamed]),
    libraries: totals(libraries),
  };
}
