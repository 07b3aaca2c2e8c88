/** Every reader of TypeScript that a stranger's file meets. */
import { ATTACKS } from "../doors/attacks.ts";
import { DENO_DOORS } from "../doors/deno_doors.ts";
import { doorsLoop } from "../doors/doors_loop.ts";
import type { Loop } from "../loop.ts";

export const doors: Loop = {
  name: "doors",
  about: "files that strangers made, damaged, through every reader of TypeScript",
  reaches: ["doors: deno refused in a sentence"],
  open: doorsLoop(() => Promise.resolve(DENO_DOORS), ATTACKS),
};
