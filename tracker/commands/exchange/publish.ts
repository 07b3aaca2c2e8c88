import { resolve } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { jsonText } from "../../show/json/print_json.ts";
import { findStudy } from "../../lab/find_study.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import { findHome } from "../../ground/home.ts";
import { privateHere } from "../../show/report_sql/sql_box.ts";
import { openStore } from "../../store/store.ts";
import { viewStudy } from "../../show/view/view_study.ts";
import { pushCheckpoint } from "./push.ts";
import { publishStudy } from "../../exchange/publish/publish_study.ts";

interface PublishOptions {
  readonly store?: string;
  readonly force?: boolean;
  readonly sql?: boolean;
  readonly toHub?: string;
  readonly endpoint?: string;
  readonly public?: boolean;
  readonly dryRun?: boolean;
  readonly checkpoint?: string;
  readonly json?: boolean;
}

/** Options that say how a hub gets a checkpoint: without a hub they say nothing. */
const OF_A_HUB = ["endpoint", "public", "dryRun", "checkpoint"] as const;

function checkOptions({ toHub, ...given }: PublishOptions, directory: string | undefined): void {
  const [lone] = OF_A_HUB.filter((name) => given[name] !== undefined);
  if (toHub === undefined && lone !== undefined) {
    const option = `--${lone.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw new UsageError(`Cannot use ${option} without --to-hub OWNER/NAME`);
  }
  if (toHub === undefined && directory === undefined) {
    throw new UsageError(
      "Cannot publish to nowhere: give a new folder, --to-hub OWNER/NAME, or both",
    );
  }
}

/** `pare publish`: a folder that is enough for a stranger, a checkpoint on a hub, or both. */
export async function publishCommand(
  study: string,
  directory: string | undefined,
  options: PublishOptions,
): Promise<void> {
  checkOptions(options, directory);
  const { toHub, force = false, sql = false, json = false, ...hub } = options;
  const say = json ? () => {} : (line: string) => console.log(line);
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const { id } = await findStudy(store, study);
  const hidden = privateHere(home.root);
  const published = { study_id: id, folder: null as string | null, files: 0 };
  const left_out: string[] = [];
  if (directory !== undefined && options.dryRun !== true) {
    const target = resolve(directory);
    const made = await publishStudy({
      ...{ store, study_id: id, registry: await discoverPlugins(), directory: target },
      ...{ hidden, force, sql },
    });
    Object.assign(published, { folder: target, files: made.files });
    left_out.push(...made.left_out);
    say(`${made.files} files in ${target}`);
    for (const one of left_out) say(`left out: ${one}`);
  }
  let pushed: string[] | null = null;
  if (toHub !== undefined) {
    const view = await viewStudy(store, id);
    const to = { ...hub, force, repository: toHub };
    pushed = await pushCheckpoint({ view, home: home.root, hidden }, to);
    for (const line of pushed) say(line);
  }
  if (json) console.log(jsonText("published", { ...published, left_out, hub: pushed }));
}
