import { z } from "zod";

/** Of a third party's runtime. */
export const RuntimeDir = z.string().optional().describe(
  "folder of its Python half; absent: one of pare's",
);

export const Precision = z.string().optional().describe(
  "in which weights run that are all floats, one that the runtime offers; absent: its own",
);

/** A setting's file names no path: the artifact store resolves the id that it does name. */
export const WeightsDir = z.string().optional().describe(
  "where the weights of a setting lie; absent: artifact_dir holds its own",
);
