/**
 * A workload whose drawn names are the same in every run: of its random numbers by a seed, of its process id by
 * a space of ids of its own. So calls on files that are written before they have their names are found again.
 */
import { execa } from "execa";

/** Ids as high as can be: whoever reads one outside finds no process of that id. */
const HIGH = 4096;
const AS_HIGH = `
echo $(($(cat /proc/sys/kernel/pid_max) - ${HIGH})) > /proc/sys/kernel/ns_last_pid || exit
exec "$@"`;
const OWN_IDS = [
  ...["unshare", "--kill-child", "--fork", "--pid", "--mount-proc"],
  ...["sh", "-ec", AS_HIGH, "sh"],
];

let possible: Promise<boolean> | null = null;

/** Whether it may have ids of its own, which needs the rights of an administrator. */
export function hasOwnIds(): Promise<boolean> {
  const [program, ...words] = [...OWN_IDS, "true"];
  return possible ??= execa(program!, words, { reject: false }).then(({ failed }) => !failed);
}

/** The words that run a program in a space of ids of its own, where that is possible. */
export async function withOwnIds(words: readonly string[]): Promise<[string, string[]]> {
  const [program, ...rest] = await hasOwnIds() ? [...OWN_IDS, ...words] : words;
  return [program!, rest];
}

/** Whether another run gives a path another name; `own`: the first process's id where ids are its own. */
export function isDrawn(path: string, own: string | null): boolean {
  if (/\.\d+\.\d+/.test(path)) return true; // when its process began
  if (own === null) return /[0-9a-f]{8}-|\.(partial|old)-/.test(path);
  const [, pid = own] = /\.(?:partial|old)-(\d+)/.exec(path) ?? [];
  return pid !== own;
}
