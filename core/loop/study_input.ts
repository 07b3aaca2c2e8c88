import type { Sampler } from "../contract/plugin.ts";
import type { Runtime } from "../contract/runtime.ts";
import type {
  Ask,
  Backend,
  Chat,
  Clock,
  EnergyMeter,
  Evaluation,
  StudyEvent,
  Suggesting,
  Tracker,
} from "../ports.ts";
import type { Artifact } from "../schemas/artifact.ts";
import type { Facts } from "../schemas/facts.ts";
import type { StopReason } from "../schemas/journal.ts";
import type { SampleResult } from "../schemas/measurement.ts";
import type { EarlierTrial, FormatLoss } from "../schemas/proposal.ts";
import type { Provenance } from "../schemas/provenance.ts";
import type { RunRequest, StudyLimits } from "../schemas/request.ts";
import type { StrategyRule } from "../schemas/rules.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import type { AgentRecovery } from "../strategies/recovery.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";
import type { Recommendation } from "../advice/recommend.ts";
import type { ReplayedStudy } from "../resume/replay.ts";

/** Samples of a finished evaluation with the protocol they were taken under. */
export interface StoredEvaluation {
  readonly trial_id: string;
  readonly fidelity: string;
  readonly samples: SampleResult[];
  /** Task to hash; empty where the store does not know: samples are then compared by their hashes. */
  readonly protocol: Record<string, string>;
  /** Task to what its hash is over; undefined in older stores. */
  readonly protocol_parts?: Evaluation["protocol_parts"];
}

/** A finished evaluation whose samples cannot be read any more. */
export interface LostEvaluation extends Omit<StoredEvaluation, "samples"> {
  /** Why not, with where the damaged file is kept. */
  readonly reason: string;
}

/** What a study needs to go on: its journal replayed, and the samples of its evaluations. */
export interface StudyHistory {
  readonly study: ReplayedStudy;
  readonly evaluations: readonly StoredEvaluation[];
  /** Those that lack; absent: none does. */
  readonly lost?: readonly LostEvaluation[];
}

export interface StudyInput {
  readonly study_id: string;
  readonly request: RunRequest;
  readonly facts: Facts;
  readonly spec: Spec;
  readonly provenance: Provenance;
  readonly methods: readonly AgentMethod[];
  /** What may time its trials beside its own runtime; absent: nothing does. */
  readonly runtimes?: readonly Runtime[];
  /** What its agents declare to win back lost quality with; absent: nothing. */
  readonly recoveries?: readonly AgentRecovery[];
  /** Which recipes are tried first in which case, where the request names none. */
  readonly rules?: readonly StrategyRule[];
  /** Asked in turn, one an episode; one that has nothing to propose is passed over. */
  readonly samplers: readonly Sampler[];
  /** The imported, uncompressed model. */
  readonly baseline: Artifact;
  /** Present: the study goes on where it stopped. */
  readonly history?: StudyHistory;
  /** Of a new study: trials of earlier ones that its samplers are shown, and that are recorded. */
  readonly earlier?: readonly EarlierTrial[];
  /** What formats cost the original, by its layers' scores; a study that was given some keeps those. */
  readonly format_losses?: readonly FormatLoss[];
  /** What samplers were to be shown of earlier studies and could not be read, in a sentence each. */
  readonly unread?: readonly string[];
  /** Limits that this run sets anew, which `request` holds already: they are recorded. */
  readonly limits?: StudyLimits;
  readonly onEvent?: (event: StudyEvent) => void;
  /** The command that goes on with it in the same way; absent: `pare resume` with its id. */
  readonly go_on?: string;
  /** The backend itself keeps what is timed alone on its machine, of which its workers may have several. */
  readonly timed_apart?: true;
}

/** The world, as the loop sees it. Randomness comes from the request's seed alone. */
export interface StudyPorts {
  readonly backend: Backend;
  readonly tracker: Tracker;
  readonly ask: Ask;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What the study's joules are counted by; absent: nothing here can count them. */
  readonly meter?: EnergyMeter;
  /** The language model that samplers may ask; absent: there is none. */
  readonly chat?: Chat;
  /** Where sampler libraries run; absent: nowhere. */
  readonly libraries?: Suggesting;
}

export interface StudyResult {
  readonly study_id: string;
  readonly stop: StopReason;
  readonly message: string;
  readonly spec: Spec;
  /** Closed trials by number, of earlier runs of the study too. */
  readonly trials: readonly Trial[];
  /** Of a search; null where no baseline was measured. */
  readonly recommendation: Recommendation | null;
  /** 95 %; null where no baseline is measured. */
  readonly hypervolume_interval: readonly [number, number] | null;
  /** Trial ids, best reward first. */
  readonly front: readonly string[];
  /** Probability of being on the front, by trial id. */
  readonly front_probability: Readonly<Record<string, number>>;
  readonly hypervolume: number | null;
}
