import type { Command } from "commander";

/** `pare mcp`; what it needs is imported when it runs. */
export function addMcpCommand(program: Command): void {
  program.command("mcp")
    .description("the store as tools for assistants, by the Model Context Protocol")
    .option("--store <dir>", "the store; default: store/ in PARE_HOME")
    .option("--allow-submit", "let assistants put studies in line, and name files of this machine")
    .option("--http", "on loopback by HTTP, with a token; default: standard input and output")
    .option("--port <n>", "of --http; default: any that is free")
    .action(async (options) => (await import("./mcp.ts")).mcpCommand(options));
}
