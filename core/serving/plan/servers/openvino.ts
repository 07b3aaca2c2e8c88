import type { ServerPlan } from "../schema.ts";
import { bareAndContained, flag, type Served } from "./served.ts";

const IMAGE = "openvino/model_server:latest";
const GIB = 1024 ** 3;

/**
 * A folder brings its settings in its graph.pbtxt (since 2025.2, `demos/common/export_models/README.md`
 * of the server); a name of the hub is fetched into a repository of models, here `models`.
 */
function words(served: Served, model: string, host: string): string[] {
  const { local, port } = served;
  const listen = ["--rest_bind_address", host, "--rest_port", String(port)];
  return local
    ? [...listen, "--model_path", model, "--model_name", nameOf(served)]
    : [...listen, ...fetched(served, model)];
}

const nameOf = ({ model }: Served) => model.replace(/\/+$/, "").split("/").at(-1)!;

function fetched(served: Served, repository: string): string[] {
  const { layout, shape } = served;
  const cache = Math.max(
    1,
    Math.ceil(
      layout.kv_bytes_per_token * layout.tensor_parallel *
        Math.min(layout.context, 32_768) / GIB,
    ),
  );
  return [
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
  if (served.local) {
    warnings.push(
      "The folder must be in OpenVINO's form, which `pare convert` makes, with a graph.pbtxt of the server's",
    );
  } else if (!served.model.startsWith("OpenVINO/")) {
    warnings.push("The model must be in OpenVINO's form: take a name under OpenVINO/");
  }
  const repository = { here: "models", contained: "/models" };
  const fetches = {
    ...{ model: repository, mounts_nothing: true, options: ["-v", "./models:/models:rw"] },
  };
  return {
    ...bareAndContained(served, {
      ...{ image: IMAGE, start: ["ovms"], entry: true, words, gpus: false },
      ...(served.local ? {} : fetches),
    }),
    warnings,
    runs: false,
  };
}
