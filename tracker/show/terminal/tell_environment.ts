import type { StudyEvent } from "../../../core/mod.ts";
import type { OnEnvironmentProgress } from "../../../python-backends/environments/environments.ts";
import { isRoutine } from "../../../python-backends/environments/pip.ts";

/** Who is told of an environment that is made. */
interface Told {
  readonly onEvent?: (event: StudyEvent) => void;
  readonly onSetup?: (line: string) => void;
}

/** Tells of an environment that is made: pip's packages as a bar, what else it says in words. */
export function tellEnvironment({ onEvent, onSetup }: Told): OnEnvironmentProgress {
  return ({ environment, line, done, total }) => {
    onEvent?.({
      event: "progress",
      trial_id: "setup",
      label: `environment ${environment}`,
      done,
      total,
      unit: "packages",
    });
    if (!isRoutine(line)) {
      onSetup?.(`environment ${environment}: ${line.slice(0, 120)}`);
    }
  };
}
