import { ledgerOf, type StudyRequest, UsageError } from "../../../core/mod.ts";
import { runStudyCommand, type StudyCommandOptions } from "./run.ts";
import { findStudy } from "../../lab/find_study.ts";
import { findHome } from "../../ground/home.ts";
import { openLab } from "../../session/lab.ts";
import { openStore } from "../../store/store.ts";
import { forecastOf, forecastText } from "../../show/stages/forecast_text.ts";
import { ledgerText } from "../../show/stages/ledger_text.ts";
import { exampleText, readStages } from "../../lab/read_document.ts";

/** `pare stages`: runs a staged document, or prints the one of the requirement. */
export async function stagesCommand(
  file: string | undefined,
  options: StudyCommandOptions & { example?: string | true; forecast?: boolean },
): Promise<void> {
  if (options.example !== undefined) return console.log(exampleText(options.example));
  if (file === undefined) {
    throw new UsageError(
      "Cannot run stages without their document: give a .yaml; `pare stages --example` prints one",
    );
  }
  const request = readStages(file);
  if (options.forecast) return await foretell(request, options);
  await runStudyCommand(options, async (lab) => {
    const session = await lab.open(request);
    const forecast = forecastOf(session, lab.registry);
    (options.json ? console.error : console.log)(forecastText(forecast));
    return session;
  });
}

/** Looks at model and machine, says what the run would take, and runs nothing. */
async function foretell(request: StudyRequest, { store }: StudyCommandOptions): Promise<void> {
  await using lab = await openLab(store === undefined ? {} : { store });
  const forecast = forecastOf(await lab.open(request), lab.registry);
  console.log(forecastText(forecast));
}

/** `pare stages show`: the ledger of a staged run. */
export async function showStagesCommand(
  name: string | undefined,
  options: { store?: string; json?: boolean },
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const { id } = await findStudy(store, name);
  const rows = ledgerOf(await store.journalOf(id));
  if (options.json) return console.log(JSON.stringify(rows, null, 2));
  if (rows.length > 0) return console.log(`study ${id}\n\n${ledgerText(rows)}`);
  throw new UsageError(
    `Cannot show the stages of ${id} as none is decided: it is no staged run, or has just begun`,
  );
}
