import { type Command, Option } from "commander";
import { CONVERSIONS } from "./formats.ts";

/** Adds `pare convert`; its work is imported when it runs. */
export function addConvertCommand(program: Command): void {
  program.command("convert").description("a trial's checkpoint as files that others load")
    .argument("<trial>", "such as STUDY/t03, t03 of the latest study, or a checkpoint's folder")
    .argument("<dir>", "a new folder")
    .addOption(
      new Option("--to <format>", "whose files").choices([...CONVERSIONS]).makeOptionMandatory(),
    )
    .option("--store <dir>", "the store; default: store/ in PARE_HOME")
    .action(async (name: string, directory: string, options) =>
      (await import("./convert_command.ts")).convertCommand(name, directory, options)
    );
}
