import assert from "node:assert/strict";
import { denoWords, startProgram } from "../../fixtures/programs.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const PROGRAM = `
  import { onHangUp } from ${
  JSON.stringify(import.meta.resolve("../../../tracker/ground/terminal/hang_up.ts"))
};
  import { execa } from "execa";
  await execa("true"); // from here on it listens to the signal, too
  onHangUp(() => { console.log("the terminal is closed"); Deno.exit(0); });
  console.log("begun");
  setTimeout(() => { console.log("to its end"); Deno.exit(0); }, Number(Deno.args[0]));`;

/** What it said after its terminal was closed. */
async function said(words: readonly string[], patience_ms: number): Promise<string | null> {
  const path = `${temporaryFolder("hang-up")}/program.ts`;
  await Deno.writeTextFile(path, PROGRAM);
  const program = startProgram([...words, ...denoWords(path, String(patience_ms))]);
  assert.equal(await program.line(), "begun");
  Deno.kill(program.pid, "SIGHUP");
  const line = await program.line();
  assert.equal((await program.exited).code, 0);
  return line;
}

Deno.test("a closed terminal ends a program in good order, and one under nohup not at all", async () => {
  assert.equal(await said([], 60_000), "the terminal is closed");
  assert.equal(await said(["nohup"], 500), "to its end");
});
