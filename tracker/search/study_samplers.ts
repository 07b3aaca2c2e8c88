import type { Registry, Sampler, StudyRequest } from "../../core/mod.ts";

/** Who proposes after the first tries where the request names nobody. */
const DEFAULT_SAMPLER = "pareto_neighbourhood";

/** The samplers that a request names, which take turns; a name that is not known is refused. */
export function studySamplers({ sampler }: StudyRequest, registry: Registry): Sampler[] {
  const names = (sampler ?? DEFAULT_SAMPLER).split(",").map((name) => name.trim());
  return [...new Set(names)].map((name) => registry.sampler(name));
}
