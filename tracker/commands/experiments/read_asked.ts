import process from "node:process";
import type { StudyRequestInput } from "../../../core/mod.ts";
import { findHome } from "../../ground/home.ts";
import { readDocument } from "../input/read_document.ts";
import { experimentsRequest } from "./prepare_members.ts";

/** What a run is asked by: a study's document, or one of experiments, of which all are meant. */
export async function readAsked(
  file: string | undefined,
  named: string | undefined,
): Promise<Partial<StudyRequestInput>> {
  if (file === undefined || !/\.ya?ml$/.test(file)) return readDocument(file);
  const { store } = findHome(Deno.env.toObject(), named);
  const asked = await experimentsRequest(file, { all: true }, { store, env: process.env });
  return asked.request;
}
