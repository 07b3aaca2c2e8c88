import { z } from "zod";

/** Where a study was run: what a reader needs to run it again. */
export const Provenance = z.strictObject({
  command: z.string(),
  code_commit: z.string().nullable(),
  pare_version: z.string(),
  environments: z.record(z.string(), z.string()).describe(
    'environment: hash of its pins; "override": an interpreter that the user names',
  ),
  model_revision: z.string().nullable(),
});
export type Provenance = z.infer<typeof Provenance>;
