import { hostname, userInfo } from "node:os";
import type { Registry } from "../../../core/mod.ts";
import { QUESTIONS } from "../pages/questions.ts";
import { PROJECT_ROOT } from "../../ground/home.ts";
import type { SqlBox } from "../pages/sql_html.ts";
import type { RecordedStudy } from "../../lab/recorded_trial.ts";
import { openTasks } from "./publish_tables.ts";
import { type Private, privateWords } from "./withheld.ts";
import type { Store } from "../../store/store.ts";
import { engineFiles, scriptOf } from "./engine_files.ts";
import { studyDatabase } from "./study_database.ts";

/** What lies beside a report that answers SQL: the folder's name is in the page. */
export const SQL_FOLDER = "report_sql";

/** Every file of that folder. */
export const SQL_NAMES = ["LICENSE.txt", "worker.js", "engine.js", "data.js"] as const;

/** A report's SQL box: what its page is told, and the files by name below SQL_FOLDER. */
export interface SqlFiles {
  readonly box: SqlBox;
  readonly files: Readonly<Record<typeof SQL_NAMES[number], string>>;
}

/** As the system knows the user, where no variable says it: as in a job or a container. */
function whoeverThisIs(): { USER?: string; HOME?: string } {
  try {
    const { username, homedir } = userInfo();
    return { USER: username, HOME: homedir };
  } catch {
    return {}; // a user without an entry has neither
  }
}

/** What is private here, of the store's home. */
export function privateHere(home: string): Private {
  const own = Object.entries(Deno.env.toObject()).filter(([, value]) => value !== "");
  const variables = { ...whoeverThisIs(), ...Object.fromEntries(own) };
  return privateWords({ home, checkout: PROJECT_ROOT, host: hostname(), variables });
}

/** The engine and a study's data as scripts, without what is private. */
export async function sqlFiles(
  store: Store,
  recorded: RecordedStudy,
  registry: Registry,
  hidden: Private,
): Promise<SqlFiles> {
  const { open } = openTasks(recorded, registry);
  const data = await studyDatabase(store, recorded.study_id, { hidden, tasks: open });
  const questions = QUESTIONS.filter(({ sql }) => !/study_comparison/.test(sql)); // of two studies
  return {
    box: { folder: SQL_FOLDER, questions },
    files: { ...await engineFiles(), "data.js": scriptOf("data", data) },
  };
}
