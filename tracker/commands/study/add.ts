import { UsageError } from "../../../core/mod.ts";
import { openLab } from "../../session/lab.ts";
import { jsonText } from "../../show/json/print_json.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import { studyCard } from "../output/study_card.ts";
import { conclude } from "../output/study_said.ts";

/** What `pare add` may be told. */
export interface AddCommandOptions {
  store?: string;
  output?: string;
  json?: boolean;
}

/** `pare add`: checkpoints that were made elsewhere as trials of a study that exists. */
export async function addCommand(
  name: string,
  checkpoints: readonly string[],
  { store, output, json = false }: AddCommandOptions,
): Promise<void> {
  const screen = createLiveView(standardScreen(), () => Date.now());
  await using lab = await openLab({
    onSetup: (line) => screen.progressLine(line),
    onEvent: screen.onEvent,
    ...(store === undefined ? {} : { store }),
  });
  const session = await lab.resume(name, {}, checkpoints);
  const given = session.request.strategies.slice(-checkpoints.length);
  const before = new Set((await session.trials()).map(({ trial_id }) => trial_id));
  const said: string[] = [];
  for (const strategy of given) {
    const trial = await session.run(strategy, { onEvent: screen.onEvent });
    const reused = before.has(trial.trial_id) ? ", reused: it was measured before" : "";
    said.push(`${trial.trial_id} is the trial of ${strategy.actions[0]!.params["file"]}${reused}`);
    before.add(trial.trial_id);
  }
  const result = await session.stop();
  screen.finish();
  if (result === null) throw new UsageError(`Cannot add to ${name}: it was closed meanwhile`);
  const view = await session.view();
  const files = await session.report(output === undefined ? {} : { folder: output }, view);
  if (json) console.log(jsonText("study", studyCard(view, files)));
  else {
    conclude(view, result.message, files);
    console.log(said.join("\n"));
  }
}
