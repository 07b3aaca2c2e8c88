import {
  type AgentMethod,
  type Assumption,
  type Facts,
  resolveAction,
  type RunRequest,
} from "../../../core/mod.ts";
import { findEnvironment } from "../../../python-backends/environments/environments.ts";
import type { Tools } from "../runner/workshop.ts";

/** What a study is asked to be timed in, and what is to be said of it. */
interface GivenRuntime {
  readonly request: RunRequest;
  readonly assumptions: readonly Assumption[];
  readonly warnings: readonly string[];
}

/**
 * Times a study of checkpoints made elsewhere in the runtime whose own blocks some of them are, where
 * nobody asked for another; where that is not set up here, says so.
 */
export async function withGivenRuntime(
  request: RunRequest,
  facts: Facts,
  entry: AgentMethod,
  { registry, home }: Pick<Tools, "registry" | "home">,
): Promise<GivenRuntime> {
  const as_asked = { request, assumptions: [], warnings: [] };
  const { given = [] } = facts;
  if (request.runtime !== undefined || given.length === 0) return as_asked;
  const changes = given.flatMap(({ file, content }) => {
    const { agent, method } = entry;
    const action = { agent, method: method.name, params: { file, content } };
    return method.leaves(resolveAction(action, [entry], facts).params, facts).changes;
  });
  const own = registry.runtimes.find((one) =>
    changes.some((change) => one.skips?.(change)) && one.supports(facts).ok
  );
  if (own === undefined) return as_asked;
  const { environment } = own.needs;
  const pins = registry.environments.get(environment);
  if (await findEnvironment(environment, home.root, pins) === null) {
    const warning =
      `${own.name} is not set up here, so that its files are timed as the floats that they ` +
      `stand for; npx -y deno task pare setup ${environment} makes it`;
    return { ...as_asked, warnings: [warning] };
  }
  const reason = "some of the checkpoints that were given are its own blocks";
  const assumption = {
    ...{ field: "runtime", value: own.name, reason },
    source: "inferred",
  } as const;
  return { request: { ...request, runtime: own.name }, assumptions: [assumption], warnings: [] };
}
