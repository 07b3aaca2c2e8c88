import { type Command, InvalidArgumentError, Option } from "commander";
import { CONVERSIONS, NOT_WRITTEN } from "../../exchange/conversion/formats.ts";

/** A format's name; one that is not written is refused with what to take in its place. */
function formatNamed(name: string): string {
  const reason = NOT_WRITTEN[name];
  if (reason !== undefined) {
    throw new InvalidArgumentError(`Cannot write ${name} files: ${reason}.`);
  }
  if ((CONVERSIONS as readonly string[]).includes(name)) return name;
  throw new InvalidArgumentError(`Allowed choices are ${CONVERSIONS.join(", ")}.`);
}

/** Adds `pare convert`; its work is imported when it runs. */
export function addConvertCommand(program: Command): void {
  program.command("convert").description("a trial's checkpoint as files that others load")
    .argument("<trial>", "such as STUDY/t03, t03 of the latest study, or a checkpoint's folder")
    .argument("<dir>", "a new folder")
    .addOption(
      new Option("--to <format>", `whose files (choices: ${CONVERSIONS.join(", ")})`)
        .argParser(formatNamed).makeOptionMandatory(),
    )
    .option("--store <dir>", "the store; default: store/ in PARE_HOME")
    .action(async (name: string, directory: string, options) =>
      (await import("./convert.ts")).convertCommand(name, directory, options)
    );
}
