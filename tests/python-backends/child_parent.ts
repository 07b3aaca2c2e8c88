/** A parent that starts a child in a folder and waits for it, for `child_test.ts`, which kills it. */
import { startChildIn } from "../../python-backends/child/child_folder.ts";

const [folder = "", ...argv] = Deno.args;

const child = startChildIn(folder, { argv, request: { epochs: 3 } });
console.log(child.pid);
await child.exited;
