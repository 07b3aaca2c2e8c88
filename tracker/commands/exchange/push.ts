import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { createBackendClient } from "../../../python-backends/client.ts";
import { bytes } from "../../show/view/number_text.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import type { Private } from "../../show/report_sql/withheld.ts";
import { type HubCheckpoint, hubCheckpoint } from "../../exchange/publish/hub/hub_files.ts";
import { refusal } from "../../lab/runner/call_runner.ts";

/** How a checkpoint is pushed. */
export interface PushOptions {
  /** OWNER/NAME. */
  readonly repository: string;
  /** The hub's address; absent: HF_ENDPOINT, else its own. */
  readonly endpoint?: string;
  /** For everybody to see; default: for its owner alone. */
  readonly public?: boolean;
  /** Into a repository that has other files, too. */
  readonly force?: boolean;
  /** Says what would go, and sends nothing. */
  readonly dryRun?: boolean;
  /** A folder that `pare convert` made, in place of pare's own files. */
  readonly checkpoint?: string;
}

const REPOSITORY = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/;

function listed({ files, notes }: HubCheckpoint): string[] {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  return [
    ...files.map((file) => `  ${file.name}  ${bytes(file.bytes)}`),
    `${files.length} files, ${bytes(total)}`,
    ...notes.map((note) => `note: ${note}`),
  ];
}

/** Pushes the recommended checkpoint with its card; gives the lines that say what became of it. */
export async function pushCheckpoint(
  { view, home, hidden }: {
    readonly view: StudyView;
    readonly home: string;
    readonly hidden: Private;
  },
  options: PushOptions,
): Promise<string[]> {
  const { repository, endpoint } = options;
  if (!REPOSITORY.test(repository)) {
    throw new UsageError(
      `Cannot push to "${repository}": that is no repository's name; give OWNER/NAME, such as ` +
        "you/model-4bit",
    );
  }
  const scratch = await mkdtemp(join(tmpdir(), "pare-hub-"));
  const client = createBackendClient({
    ...{ home, nursery: false, env: { HF_HUB_OFFLINE: "0", HF_HUB_DISABLE_PROGRESS_BARS: "1" } },
  });
  try {
    const { checkpoint } = options;
    const asked = { hidden, scratch, ...(checkpoint === undefined ? {} : { checkpoint }) };
    const made = await hubCheckpoint(view, asked);
    if (options.dryRun === true) {
      return [`would push ${view.recommended} to ${repository}:`, ...listed(made)];
    }
    const pushed = await client.run({
      call: "push_model",
      repo_id: repository,
      endpoint: endpoint ?? null,
      private: options.public !== true,
      replace: options.force === true,
      message: `${view.recommended} of ${view.study_id}, compressed by pare`,
      files: made.files.map(({ name, path }) => ({ name, path })),
    }, { environment: "default" });
    if (!pushed.ok) throw refusal(pushed.failure);
    const { url, commit, created } = pushed.value;
    const seen = !created ? "" : options.public === true ? ", public" : ", private";
    return [...listed(made), `pushed to ${url}${seen}, commit ${commit}`];
  } finally {
    await client.close();
    await rm(scratch, { recursive: true, force: true });
  }
}
