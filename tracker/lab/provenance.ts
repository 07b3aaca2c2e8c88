import { execa } from "execa";
import type { ModelFacts, Provenance } from "../../core/mod.ts";
import { PROJECT_ROOT } from "../ground/home.ts";

export const PARE_VERSION = "0.1.0";

/** The checkout's commit, with `-dirty` where files differ from it; null outside a checkout. */
export async function codeCommit(): Promise<string | null> {
  const git = (args: string[]) =>
    execa("git", ["-C", PROJECT_ROOT, ...args], { reject: false, stdin: "ignore" });
  const head = await git(["rev-parse", "HEAD"]);
  if (head.exitCode !== 0) return null;
  const changed = await git(["status", "--porcelain", "--untracked-files=no"]);
  return head.stdout.trim() + (changed.stdout.trim() === "" ? "" : "-dirty");
}

/** What somebody else needs to run a study again. */
export async function provenanceOf(
  command: string,
  model: ModelFacts,
  environments: Record<string, string>,
): Promise<Provenance> {
  return {
    command,
    code_commit: await codeCommit(),
    pare_version: PARE_VERSION,
    environments,
    model_revision: model.revision,
  };
}
