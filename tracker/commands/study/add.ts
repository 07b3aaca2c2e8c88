import type { StudyEvent } from "../../../core/mod.ts";
import { openLab } from "../../session/lab.ts";
import { jsonText } from "../../show/json/print_json.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import { placeFromOptions, type PlaceWords } from "../input/study_document.ts";
import { commandLine } from "../output/go_on.ts";
import { interruptible } from "../output/interruptible.ts";
import { studyCard } from "../output/study_card.ts";
import { announce, conclude } from "../output/study_said.ts";

/** What `pare add` may be told. */
export interface AddCommandOptions extends PlaceWords {
  store?: string;
  output?: string;
  json?: boolean;
}

/** `pare add`: checkpoints that were made elsewhere as trials of a study that exists. */
export async function addCommand(
  name: string,
  checkpoints: readonly string[],
  { store, output, json = false, ...asked }: AddCommandOptions,
): Promise<void> {
  const screen = createLiveView(standardScreen(), () => Date.now());
  const onEvent = (event: StudyEvent) => {
    screen.onEvent(event);
    announce(screen.say, event);
  };
  let begun = false;
  const { signal } = interruptible(screen.say, () => begun);
  await using lab = await openLab({
    onSetup: (line) => screen.progressLine(line),
    ...{ onEvent, signal, goOn: commandLine, ...placeFromOptions(asked) },
    ...(store === undefined ? {} : { store }),
  });
  const before = await lab.view(name);
  const session = await lab.resume(name, {}, checkpoints);
  // Of two that are one file there is one.
  const given = session.request.strategies.slice(before.request.strategies.length);
  const notes = session.spec.warnings.filter((one) => !before.spec.warnings.includes(one));
  for (const note of notes) screen.say(`note: ${note}`);
  const said: string[] = [];
  begun = true;
  await using hand = await session.byHand({ signal, onEvent });
  await hand.baseline();
  const measured = new Set(hand.trials().map(({ trial_id }) => trial_id));
  const trials = signal.aborted
    ? []
    : await hand.runAll(given.map(({ actions }) => hand.recipe(actions, "added to the study")));
  for (const [at, trial] of trials.entries()) {
    if (trial === null) continue;
    const reused = measured.has(trial.trial_id) ? ", reused: it was measured before" : "";
    const { file } = given[at]!.actions[0]!.params;
    said.push(`${trial.trial_id} is the trial of ${file}${reused}`);
  }
  const result = await hand.close();
  screen.finish();
  const view = await session.view();
  const files = await session.report(output === undefined ? {} : { folder: output }, view);
  if (json) console.log(jsonText("study", studyCard(view, files)));
  else {
    conclude(view, result.message, files);
    console.log(said.join("\n"));
  }
  if (signal.aborted) Deno.exitCode = 130;
}
