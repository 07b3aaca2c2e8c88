import type { z } from "zod";
import type { BoardQueue } from "../board/board_queue.ts";
import type { BoardStores } from "../board/board_stores.ts";

/** What tools work on. */
export interface AssistantWorld {
  readonly stores: BoardStores;
  readonly queue: BoardQueue;
  /** Whether an assistant may put studies in line, and name models and data by their paths. */
  readonly allow_submit: boolean;
  /** Who runs what is in line; null: nobody does. */
  readonly drives: () => string | null;
}

/** A tool: what it is asked, and the value or text that it answers with. */
export interface AssistantTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** It changes something. */
  readonly writes: boolean;
  run(world: AssistantWorld, asked: unknown): Promise<unknown>;
}

/** A tool whose arguments are checked before it runs. */
export function defineTool<Input extends z.ZodObject>(
  name: string,
  tool: {
    readonly title: string;
    readonly description: string;
    readonly input: Input;
    readonly writes?: boolean;
    readonly run: (world: AssistantWorld, asked: z.infer<Input>) => Promise<unknown>;
  },
): AssistantTool {
  const { writes = false, run, ...rest } = tool;
  return { name, ...rest, writes, run: (world, asked) => run(world, asked as z.infer<Input>) };
}
