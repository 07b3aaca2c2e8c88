import type { RecordedStudy } from "../../lab/recorded_trial.ts";

/** The study's request: `pare run study.json` searches anew by it. */
export const DOCUMENT = "study.json";
/** What was recorded of it: what `pare reproduce --from` reads. */
export const RECORDED = "recorded.json";
export const SCRIPT = "reproduce.sh";

/** What a stranger runs in a clean clone: it looks at the folder's files, then runs a trial again. */
const SCRIPT_TEXT = `#!/bin/sh
# Runs a trial of this folder's study again and says what differs from what was recorded:
#   cd <a clone of pare>; sh <this folder>/reproduce.sh [t03] [--model DIR] [--dataset FILE]
# Without a name it is the trial that the study recommends.
set -eu
folder=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
if [ ! -f tracker/cli.ts ]; then
  echo "reproduce.sh: run it in a clone of pare: there is no tracker/cli.ts here" >&2
  exit 2
fi
if [ -f "$folder/SHA256SUMS" ]; then
  if ! (cd "$folder" && sha256sum --quiet -c SHA256SUMS); then
    echo "reproduce.sh: a file of $folder is not as it was published" >&2
    exit 2
  fi
fi
exec npx -y deno task pare reproduce --from "$folder" "$@"
`;

/** What it takes to run a study's trials again, as files of its report's folder, by name. */
export function reproductionFiles(study: RecordedStudy): Readonly<Record<string, string>> {
  const json = (value: unknown) => JSON.stringify(value, null, 2) + "\n";
  return { [DOCUMENT]: json(study.request), [RECORDED]: json(study), [SCRIPT]: SCRIPT_TEXT };
}
