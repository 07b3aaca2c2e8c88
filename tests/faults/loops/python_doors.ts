/** Every reader of Python that a stranger's file meets: models, tokenizers, task files, rows. */
import { doorsLoop, tinyModel } from "../doors/doors_loop.ts";
import { pythonDoors } from "../doors/python_doors.ts";
import type { Loop } from "../loop.ts";

export const python_doors: Loop = {
  name: "python_doors",
  about: "files that strangers made, damaged, through every reader of Python",
  reaches: ["doors: python refused in a sentence"],
  open: doorsLoop(async (folder) => pythonDoors(await tinyModel(folder)), []),
};
