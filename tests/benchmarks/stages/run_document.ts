/** Runs the requirement's document on few samples as a user does, and keeps its outcome. */
import { execa } from "execa";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findHome } from "../../../tracker/ground/home.ts";
import { exampleText } from "../../../tracker/lab/read_document.ts";
import { benchmarkHome } from "../benchmark_home.ts";
import { readStudy } from "../measured_study.ts";
import { DocumentRun, documentRun } from "./document_rows.ts";
import { reducedDocument } from "./reduced_document.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const KEPT = fileURLToPath(new URL("./document.json", import.meta.url));

/** The outcome of an earlier run; null: none is kept. */
export async function keptDocument(): Promise<DocumentRun | null> {
  if (!existsSync(KEPT)) return null;
  return DocumentRun.parse(JSON.parse(await readFile(KEPT, "utf8")));
}

/**
 * Runs it, or goes on where an earlier run was stopped. dataDir: of benchmark files; none: the hub's
 */
export async function runDocument(dataDir: string | undefined): Promise<DocumentRun> {
  const root = await benchmarkHome("stages-document");
  const file = join(root, "document.json"); // YAML's readers read JSON
  const begun = existsSync(file) && existsSync(join(root, "store", "runs"));
  if (!begun) {
    const document = reducedDocument(exampleText(), dataDir);
    await writeFile(file, `${JSON.stringify(document, null, 1)}\n`);
  }
  const words = begun ? ["resume"] : ["stages", file];
  const output = ["--output", join(root, "output")];
  await execa(
    Deno.execPath(),
    ["run", "--allow-all", "tracker/cli.ts", ...words, "--yes", ...output],
    {
      cwd: ROOT,
      // The machine may have other work: no figure here is a latency.
      env: { PARE_HOME: root, OMP_NUM_THREADS: "1", PARE_QUIET_SECONDS: "0.1" },
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    },
  );
  const { view } = await readStudy(findHome({ ...Deno.env.toObject(), PARE_HOME: root }));
  const run = documentRun(view, navigator.hardwareConcurrency);
  await writeFile(KEPT, `${JSON.stringify(run, null, 1)}\n`);
  await execa(Deno.execPath(), ["fmt", "--quiet", KEPT]);
  return run;
}
