import { profileOf, trialName, UsageError, type Weighed } from "../../../core/mod.ts";
import { openLab } from "../../session/lab.ts";
import { shippedText } from "../../lab/search/strategy_rules.ts";
import { readProfiles, shippedProfilesText, weighView } from "../../show/weight_profiles.ts";
import { textTable } from "../../show/terminal/table.ts";
import { number } from "../../show/view/number_text.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { parseObjectives } from "../../ground/terminal/parse_values.ts";
import type { WeighedStudy } from "../../show/json/json_shapes.ts";
import { finite, jsonText } from "../../show/json/print_json.ts";

interface WeighOptions {
  store?: string;
  weights?: string;
  profile?: string;
  profiles?: string;
  json?: boolean;
}

function nameIn({ rows }: StudyView, id: string): string {
  const row = rows.find(({ trial_id }) => trial_id === id);
  return row === undefined ? id : `${trialName(row.number)} ${row.recipe}`;
}

/** That others have the same reward, and by what one of them is picked. */
function equalRewards({ recommendation, ranking }: Weighed): string[] {
  const { trial_id: picked, keep_original } = recommendation;
  const reward = ranking.find(({ trial_id }) => trial_id === picked)?.reward;
  const others = ranking.filter((one) => one.trial_id !== picked && one.reward === reward);
  if (keep_original || others.length === 0) return [];
  const names = others.map(({ trial_id }) => trial_id.split("/").at(-1)).join(", ");
  return [
    `the same reward: ${names}; of equals the one is picked that meets its limits the surest, else the first tried`,
  ];
}

/** What the weights pick, in a few lines. */
export function weighedText(view: StudyView, heading: string, weighed: Weighed): string {
  const { weights, recommendation, ranking, left_out } = weighed;
  const words = Object.entries(weights).filter(([, weight = 0]) => weight > 0)
    .map(([name, weight]) => `${name} ${number(weight)}`).join(", ");
  const picked = recommendation.keep_original
    ? "the original is kept"
    : `picks ${nameIn(view, recommendation.trial_id)}`;
  // Constraints stand above weights: who has a better reward and was not taken, and why.
  const passed = recommendation.reasons.filter((one) =>
    one.includes("was passed over") || /counts? as equal/.test(one)
  );
  const rows = ranking.map(({ trial_id, reward }) => [
    nameIn(view, trial_id),
    number(reward),
    trial_id === recommendation.trial_id ? "picked" : "",
  ]);
  return [
    `${heading} (${words}): ${picked}`,
    ...[...left_out, ...passed, ...equalRewards(weighed)].map((reason) => `  ${reason}`),
    textTable(["on the front", "reward", ""], rows),
  ].join("\n");
}

/** `pare weigh`: which point of the front other weights, or each profile, would pick. */
export async function weighCommand(
  study: string | undefined,
  options: WeighOptions,
): Promise<void> {
  const { weights, profile } = options;
  if (weights !== undefined && (profile ?? options.profiles) !== undefined) {
    throw new UsageError("Cannot weigh by --weights and by profiles at once: give one of them");
  }
  const given = weights === undefined ? null : parseObjectives(weights, "--weights");
  const all = readProfiles(options.profiles);
  const chosen = profile === undefined ? all : [profileOf(profile, all)];
  await using lab = await openLab(options.store === undefined ? {} : { store: options.store });
  const view = await lab.view(study);
  const asked = given === null
    ? chosen.map(({ name, describes, weights }) => ({ name, describes, weights }))
    : [{ name: null, describes: "these weights", weights: given }];
  const weighed = asked.map((one) => ({ ...one, weighed: weighView(view, one.weights) }));
  if (options.json) {
    const cards = weighed.map(({ name, weighed }) => weighedCard(view, name, weighed));
    return console.log(jsonText("weighed", { study_id: view.study_id, weighed: cards }));
  }
  const texts = weighed.map(({ name, describes, weighed }) =>
    weighedText(view, name === null ? describes : `${name}: ${describes}`, weighed)
  );
  console.log(texts.join("\n\n"));
}

function weighedCard(
  { rows }: StudyView,
  name: string | null,
  { weights, recommendation, ranking, left_out }: Weighed,
): WeighedStudy["weighed"][number] {
  const recipe = (id: string) => rows.find(({ trial_id }) => trial_id === id)?.recipe ?? "";
  return {
    ...{ name, left_out: [...left_out] },
    weights: Object.fromEntries(
      Object.entries(weights).map(([term, weight = 0]) => [term, weight]),
    ),
    picked: recommendation.trial_id,
    keep_original: recommendation.keep_original,
    reasons: [...recommendation.reasons],
    ranking: ranking.map(({ trial_id, reward }) => ({
      ...{ trial_id, recipe: recipe(trial_id), reward: finite(reward) },
    })),
  };
}

/** `pare profiles`: those that ship, to be changed and given back. */
export function profilesCommand(): void {
  console.log(shippedProfilesText());
}

/** Prints the rules that ship with pare, their comments with them: to be changed and given back. */
export function rulesCommand(): void {
  console.log(shippedText());
}
