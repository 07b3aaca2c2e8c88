/** What an assistant's program may list and read: reports, figures, schemas; and questions to begin with. */
import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { z } from "zod";
import { StudyDocument, unknownName, UsageError } from "../../core/mod.ts";
import { drawFigure, DRAWN_FIGURES } from "../board/resources/figures.ts";
import { listStudies } from "../board/resources/studies.ts";
import { smallJson } from "./answer.ts";
import type { AssistantWorld } from "./tool.ts";
import { reportOf, viewsOf } from "./tools/asked_tools.ts";

/** Studies that a list of resources names. */
const MOST_LISTED = 50;

type Read = (variables: Readonly<Record<string, string>>) => Promise<string>;

function addTemplate(
  server: McpServer,
  name: string,
  how: { uri: string; description: string; mimeType: string; studies: () => Promise<string[]> },
  read: Read,
): void {
  const { uri, description, mimeType, studies } = how;
  const list = async () => ({
    resources: (await studies()).map((study) => ({
      uri: uri.replace("{study}", encodeURIComponent(study)),
      ...{ name: `${name} of ${study}`, mimeType },
    })),
  });
  const listed = uri.includes("{figure}") || !uri.includes("{study}") ? undefined : list;
  server.registerResource(
    name,
    new ResourceTemplate(uri, { list: listed }),
    { description, mimeType },
    async (asked, variables) => {
      const plain = Object.fromEntries(
        Object.entries(variables).map(([key, value]) => [key, decodeURIComponent(String(value))]),
      );
      return { contents: [{ uri: asked.href, mimeType, text: await read(plain) }] };
    },
  );
}

export function addResources(server: McpServer, world: AssistantWorld): void {
  const studies = async () => {
    const { answers } = await listStudies(world.stores);
    return answers.filter(({ source }) => source === "pare").map(({ study_id }) => study_id)
      .slice(0, MOST_LISTED);
  };
  server.registerResource(
    "schema of a study",
    "pare://schema/study",
    { description: "JSON Schema of a study document", mimeType: "application/json" },
    (uri) => {
      const schema = z.toJSONSchema(StudyDocument, { io: "input", unrepresentable: "any" });
      const text = JSON.stringify(schema);
      return { contents: [{ uri: uri.href, mimeType: "application/json", text }] };
    },
  );
  const json = { mimeType: "application/json", studies };
  addTemplate(server, "columns of a view", {
    ...{ ...json, uri: "pare://schema/views/{view}" },
    description: "a table's or view's columns, their types and meanings",
  }, async ({ view }) => smallJson(await viewsOf(world, view)));
  addTemplate(server, "report", {
    ...{ uri: "pare://studies/{study}/report", mimeType: "text/markdown", studies },
    description: "a study's report as Markdown",
  }, ({ study }) => reportOf(world, study!));
  addTemplate(server, "figure", {
    ...{ uri: "pare://studies/{study}/figures/{figure}", mimeType: "image/svg+xml", studies },
    description: `a figure of a study: ${DRAWN_FIGURES.join(", ")}`,
  }, async ({ study, figure }) => {
    const found = DRAWN_FIGURES.find((one) => one === figure);
    if (found === undefined) throw new UsageError(unknownName("figure", figure!, DRAWN_FIGURES));
    return await drawFigure(world.stores, study!, found, { width: 800 });
  });
}

/** As long as the tools take a name, a model or a limit. */
const asked = z.string().max(500);

/** Questions that people ask of a store, with what answers them. */
const QUESTIONS = {
  which_to_deploy: {
    description: "Which compressed model of a study should be deployed, and why?",
    asks: { study: asked, limit: asked.optional().describe("such as at most 100 MB") },
    text: ({ study, limit }: Record<string, string | undefined>) =>
      `Which trial of the study ${study} should I deploy${
        limit === undefined ? "" : `, ${limit}`
      }? Look at its front by \`show\`, compare the best two by \`compare\`, and read the ` +
      "report's caveats. Name the file, the runtime and the command that runs it. Give every " +
      "figure with its interval, and say what was not decided.",
  },
  why_did_trials_fail: {
    description: "Why did trials of a study fail, and what should be done?",
    asks: { study: asked },
    text: ({ study }: Record<string, string | undefined>) =>
      `Why did trials of the study ${study} fail or get dropped? Ask the view \`failures\` and the ` +
      "gates by `query`, group the reasons, and say what to change.",
  },
  compress_a_model: {
    description: "Plan a study that compresses a model for given data and limits.",
    asks: { model: asked, dataset: asked, limits: asked.optional() },
    text: ({ model, dataset, limits }: Record<string, string | undefined>) =>
      `I want to compress ${model} for ${dataset}${limits === undefined ? "" : `, ${limits}`}. ` +
      "Read pare://schema/study, call `propose` with a document, tell me what it infers and what " +
      "it would try, and ask me before you call `submit`.",
  },
} as const;

export function addPrompts(server: McpServer): void {
  for (const [name, { description, asks, text }] of Object.entries(QUESTIONS)) {
    server.registerPrompt(
      name,
      { description, argsSchema: z.object(asks as z.ZodRawShape) },
      (given) => {
        const content = {
          type: "text" as const,
          text: text(given as Record<string, string | undefined>),
        };
        return { messages: [{ role: "user" as const, content }] };
      },
    );
  }
}
