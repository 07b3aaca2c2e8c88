import type { Command } from "commander";

// `pare --help` reads this file: it imports types alone.

/** Options that commands share. */
interface Shared {
  readonly withStore: (command: Command) => Command;
  readonly withJson: (command: Command) => Command;
}

const ADDRESS = "s3://BUCKET/PREFIX; keys and server by AWS's variables";

/** Artifacts to other machines, by an object store. */
function addArtifactCommands(program: Command, { withStore }: Shared): void {
  withStore(
    program.command("push").description("send a trial's checkpoint to an object store")
      .argument("<trial>", "such as STUDY/t03, or an artifact's id").argument("<address>", ADDRESS),
  ).action(async (name: string, address: string, options) =>
    (await import("./move_artifacts.ts")).pushCommand(name, address, options)
  );
  program.command("pull").description("fetch a checkpoint from an object store")
    .argument("<address>", ADDRESS)
    .argument("[artifact]", "its id, as `pare push` says it; default: list what is there")
    .action(async (address: string, artifact: string | undefined) =>
      (await import("./move_artifacts.ts")).pullCommand(address, artifact)
    );
}

/** A study for others: run again, and gathered. */
export function addPassOnCommands(program: Command, shared: Shared): void {
  const { withStore, withJson } = shared;
  addArtifactCommands(program, shared);
  withJson(withStore(
    program.command("reproduce")
      .description("run a recorded trial again, with nothing that was kept, and say what differs")
      .argument("[name]", "STUDY/t03, or a study: the trial it recommends; default: the latest"),
  ))
    .option("--from <dir>", "a published folder in place of the store")
    .option("--model <name|path>", "where the model lies here; it must be the same")
    .option("--dataset <name|file>", "where the data lie here; they must be the same")
    .option("--candidates <checkpoints...>", "where what was made elsewhere lies here")
    .option("--locks", "make the recorded Python environments of the folder's locks by pip")
    .action(async (name: string | undefined, options) =>
      (await import("./reproduce.ts")).reproduceCommand(name, options)
    );

  withJson(withStore(
    program.command("publish")
      .description("gather a study for others: report, data, document, locks, and no secrets")
      .argument("<study>", "its id").argument("[dir]", "a new folder")
      .option(
        "--force",
        "write the files of an earlier publication again, or beside a hub's others",
      )
      .option("--sql", "the engine of the report's SQL box, too, about 12 MB")
      .option("--to-hub <owner/name>", "the recommended checkpoint and its card to a hub, too")
      .option("--checkpoint <dir>", "for the hub: a folder that `pare convert` made of it")
      .option("--endpoint <url>", "the hub's address; default: HF_ENDPOINT, else Hugging Face's")
      .option("--public", "a new repository that all see; default: private")
      .option("--dry-run", "say what would go to the hub, and send nothing"),
  )).action(async (study: string, directory: string | undefined, options) =>
    (await import("./publish.ts")).publishCommand(study, directory, options)
  );
}
