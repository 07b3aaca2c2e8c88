/** Artifacts that workloads make, and the study whose journal names them. */
import { join } from "node:path";
import type { Artifact } from "../../../core/mod.ts";
import { writeAll } from "../../../python-backends/whole_file.ts";
import type { ArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { artifact, AT, STUDY, studyOpened, trialId } from "../../fixtures/stores/records.ts";

/** The key of the action that makes artifact `n`. */
export const actionKey = (n: number) => `${n}`.repeat(64);

export async function make(artifacts: ArtifactStore, n: number): Promise<Artifact> {
  const written = await artifacts.begin();
  Deno.mkdirSync(join(written, "tokenizer"));
  for (
    const [name, text] of [["model.safetensors", `weights ${n} `.repeat(90)], [
      "tokenizer/words",
      "a",
    ]]
  ) {
    using file = Deno.openSync(join(written, name!), { write: true, create: true });
    writeAll(file, new TextEncoder().encode(text));
  }
  const { artifact_id: _, location: __, files: ___, size_bytes: ____, ...meta } = artifact(
    "a",
    null,
  );
  return await artifacts.commit(written, { ...meta, action_key: actionKey(n) });
}

/** Names it in the journal of a study, which is opened with the first. */
export async function nameIn(writer: Store, made: Artifact): Promise<void> {
  const opened = (await writer.studyIds()).includes(STUDY);
  if (!opened) await writer.record(studyOpened());
  const own = { at: AT, study_id: STUDY, trial_id: trialId(0) };
  await writer.record({
    type: "artifact_written",
    ...own,
    artifact: { ...made, location: "." },
    cached: false,
  });
}

/** The same by a process that ends without another word. */
export async function publish(store: string, made: Artifact): Promise<void> {
  const writer = await openStore(store, { write: true });
  writer.pauseSink();
  await nameIn(writer, made);
  await writer.release(STUDY);
}

/** Of what was acknowledged in a form such as `made ID`, the ids. */
export const wordsOf = (acknowledged: readonly string[], word: string): string[] =>
  acknowledged.filter((one) => one.startsWith(`${word} `)).map((one) => one.slice(word.length + 1));
