import type { ServerPlan } from "../schema.ts";
import { docker, flag, type Served } from "./served.ts";

const IMAGE = "openvino/model_server:latest";
const GIB = 1024 ** 3;

function words(served: Served, repository: string, host: string): string[] {
  const { layout, shape } = served;
  const cache = Math.max(
    1,
    Math.ceil(
      layout.kv_bytes_per_token * layout.tensor_parallel *
        Math.min(layout.context, 32_768) / GIB,
    ),
  );
  return [
    ...["--rest_bind_address", host, "--rest_port", String(served.port)],
    ...["--source_model", served.model, "--model_repository_path", repository],
    ...["--task", "text_generation", "--target_device", "CPU"],
    ...["--cache_size", String(shape.latent ? 1 : cache)],
    ...flag("--max_num_seqs", served.sequences > 1 ? served.sequences : null),
    ...flag("--tool_parser", served.parsers.openvino),
  ];
}

/** OpenVINO Model Server, bare and in its image: on the CPU, as no card of the table is Intel's. */
export function openvinoCommand(served: Served): ServerPlan {
  const warnings = [
    `OpenVINO runs on CPUs and Intel's cards, not on ${served.card.name}: the command is for the CPU ` +
    "beside it",
  ];
  if (!served.model.startsWith("OpenVINO/")) {
    warnings.push(
      "The model must be in OpenVINO's form: `pare convert` makes it, or a name under OpenVINO/",
    );
  }
  return {
    command: { program: "ovms", args: words(served, "models", "127.0.0.1"), environment: {} },
    container: docker(IMAGE, { ...served, local: false }, words(served, "/models", "0.0.0.0"), {
      ...{ gpus: false, options: ["-v", "./models:/models:rw"] },
    }),
    warnings,
    runs: false,
  };
}
