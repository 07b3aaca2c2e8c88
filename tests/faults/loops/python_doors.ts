/** Every reader of Python that a stranger's file meets: models, tokenizers, task files, rows. */
import { PYTHON_ATTACKS } from "../doors/attacks.ts";
import { doorsLoop, pythonSeeds, tinyModel } from "../doors/doors_loop.ts";
import { pythonDoors } from "../doors/python_doors.ts";
import type { Loop } from "../loop.ts";

export const python_doors: Loop = {
  name: "python_doors",
  about: "files that strangers made, damaged, through every reader of Python",
  reaches: ["doors: python refused in a sentence"],
  open: doorsLoop(
    async (folder) => pythonDoors(await tinyModel(folder), await pythonSeeds(folder)),
    PYTHON_ATTACKS,
  ),
};
