import { type Facts, type RunRequest, workersOf } from "../../../core/mod.ts";
import type { WorkersAsked } from "./worker_client.ts";

/** What whoever opened the lab says of workers, above what a study's document or journal says. */
type Asked = Pick<RunRequest, "workers">;

/** The request with as many trials at once as who opened the lab asks for. */
export function withAsked(request: RunRequest, { workers }: Asked): RunRequest {
  return workers === undefined ? request : { ...request, workers };
}

/**
 * The request with the number of its workers, where it asks for some: what the machine has no room for is
 * refused. A study that goes on keeps its number, unless another one is asked for.
 */
export function withWorkers(
  request: RunRequest,
  { facts, elsewhere, options, begun }: {
    readonly facts: Facts;
    readonly elsewhere: Pick<WorkersAsked, "count"> | null;
    readonly options: Asked;
    readonly begun: boolean;
  },
): RunRequest {
  if (request.workers === undefined || (begun && options.workers === undefined)) return request;
  return { ...request, workers: elsewhere?.count ?? workersOf(request, facts) };
}
