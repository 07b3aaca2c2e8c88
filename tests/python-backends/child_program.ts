/** A child with a folder, for `child_test.ts`: its folder, and how it behaves. */
import { join } from "node:path";
import { beChild } from "../../python-backends/child/be_child.ts";

const [folder = "", kind = ""] = Deno.args;

const own = beChild(folder, () => {
  if (kind === "hangs") return;
  own.finish({ ok: false, reason: "its parent is gone" });
  Deno.exit(130);
}, 500);
console.log("begun");
console.error("of no use");

switch (kind) {
  case "answers":
    own.finish({ ok: true, value: own.request });
    Deno.exit(0);
    break;
  case "heeds":
    Deno.addSignalListener("SIGINT", () => Deno.exit(3));
    console.log("ready");
    await new Promise((resolve) => setTimeout(resolve, 300_000));
    break;
  case "quits":
    Deno.exit(7);
    break;
  default: {
    const below = new Deno.Command("sleep", { args: ["300"] }).spawn(); // of its group
    Deno.writeTextFileSync(join(folder, "below"), String(below.pid));
    await new Promise((resolve) => setTimeout(resolve, 300_000));
  }
}
