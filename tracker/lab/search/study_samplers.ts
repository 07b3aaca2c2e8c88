import { type Registry, type RunRequest, type Sampler, UsageError } from "../../../core/mod.ts";

/** Who proposes after the first tries where the request names nobody. */
const DEFAULT_SAMPLER = "auto";

/** The one that asks a language model: it never has a study for itself. */
const STRATEGIST = "strategist";

/**
 * The samplers that a request names, which take turns; a name that is not known is refused. A strategist
 * that has an endpoint joins them, and one that is named alone takes turns with the usual sampler.
 */
export function studySamplers(
  { sampler, strategist }: RunRequest,
  registry: Registry,
): Sampler[] {
  const names = (sampler ?? DEFAULT_SAMPLER).split(",").map((name) => name.trim());
  if (names.includes(STRATEGIST) && strategist === undefined) {
    throw new UsageError(
      `Cannot ask a strategist as no server is named: give --strategist URL, or leave ${STRATEGIST} out`,
    );
  }
  const others = names.filter((name) => name !== STRATEGIST);
  const all = [
    ...(others.length === 0 ? [DEFAULT_SAMPLER] : others),
    ...(strategist === undefined ? [] : [STRATEGIST]),
  ];
  return [...new Set(all)].map((name) => registry.sampler(name));
}
