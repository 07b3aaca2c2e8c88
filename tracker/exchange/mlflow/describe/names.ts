import type { Effect } from "./effects.ts";
import { hashedKey, LIMITS, safeKey } from "../client/server_limits.ts";
import type { RunData } from "../client/log_batch.ts";

type List = "metrics" | "params" | "tags";
type Logged = Extract<Effect, { kind: "log" }>;

/** Two names of a study that MLflow's rules would make one: what the later is called there. */
export interface Clash {
  readonly original: string;
  readonly name: string;
  /** Who has the plain name, and that name. */
  readonly holder: string;
  readonly plain: string;
}

/** How the names of a study are called on the server: the same in all its runs. */
export interface NameBook {
  /**
   * The name of a text that the study logs, and what it clashed with. The first that comes to a name
   * keeps it; another one gets a hash of its own text. A study's records are asked in their order from
   * the first on, so that a restart gives the same names.
   */
  nameOf(list: List, original: string): { readonly name: string; readonly clash: Clash | null };
}

export function newNameBook(): NameBook {
  const known = new Map<string, { name: string; clash: Clash | null }>();
  const holders = new Map<string, string>();
  return {
    nameOf(list, original) {
      const found = known.get(`${list} ${original}`);
      if (found !== undefined) return found;
      const plain = safeKey(original);
      let name = plain;
      for (let n = 0; holders.has(`${list} ${name}`); n++) {
        name = hashedKey(plain, n === 0 ? original : `${original}\n${n}`);
      }
      const holder = holders.get(`${list} ${plain}`);
      holders.set(`${list} ${name}`, original);
      const clash = holder === undefined ? null : { original, name, holder, plain };
      known.set(`${list} ${original}`, { name, clash });
      return { name, clash };
    },
  };
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/** The sentence for two names that were told apart. */
export function clashSentence(study_id: string, { original, name, holder, plain }: Clash): string {
  return `In MLflow ${
    shown(original)
  } of ${study_id} is called ${name}: its rules for names would ` +
    `make it ${plain}, as which ${shown(holder)} is there already`;
}

/** Tags that say which texts two such names stand for. */
function clashTags(clashes: readonly Clash[]): { key: string; value: string }[] {
  const tag = (name: string, text: string) => ({
    key: safeKey(`pare.name.${name}`),
    value: text.slice(0, LIMITS.tag_value),
  });
  return clashes.flatMap(({ original, name, holder, plain }) => [
    tag(plain, holder),
    tag(name, original),
  ]);
}

/** What is logged, under the names of the server; names that clashed are told and tagged. */
export function named(
  effect: Logged,
  names: NameBook,
  onClash: (clash: Clash) => void = () => {},
): Logged {
  const clashes = new Map<string, Clash>();
  const renamed = <T extends { key: string }>(list: List, items: readonly T[] | undefined) => {
    if (items === undefined) return {};
    const names_of = new Map<string, string>();
    for (const { key } of items) {
      if (names_of.has(key)) continue;
      const { name, clash } = names.nameOf(list, key);
      names_of.set(key, name);
      if (clash !== null) clashes.set(`${list} ${name}`, clash);
    }
    // Most names stay, and points are many: they are not copied.
    const same = [...names_of].every(([key, name]) => key === name);
    return { [list]: same ? items : items.map((one) => ({ ...one, key: names_of.get(one.key)! })) };
  };
  const { metrics, params, tags } = effect.data;
  const data: RunData = {
    ...renamed("metrics", metrics),
    ...renamed("params", params),
    ...renamed("tags", tags),
  };
  if (clashes.size === 0) return { ...effect, data };
  for (const clash of clashes.values()) onClash(clash);
  return {
    ...effect,
    data: { ...data, tags: [...data.tags ?? [], ...clashTags([...clashes.values()])] },
  };
}
