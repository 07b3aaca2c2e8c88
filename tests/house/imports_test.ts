import assert from "node:assert/strict";
import { circles, parseTypeScript, python, sayGone, SHIPPED, typeScript } from "./sources.ts";

/** Of `pare_backends`: which folders a folder's modules may import beside its own. */
const GROUND = ["ground", "sandbox"];
const LAYERS: Record<string, readonly string[]> = {
  ground: [],
  sandbox: ["ground"],
  text: ["ground"],
  checkpoint: GROUND,
  cache: [...GROUND, "checkpoint"],
  models: [...GROUND, "checkpoint", "text"],
  methods: [...GROUND, "checkpoint", "models", "text"],
  training: [...GROUND, "checkpoint", "models", "methods", "text"],
  evaluation: [...GROUND, "cache", "checkpoint", "models", "text"],
  runtimes: [...GROUND, "cache", "checkpoint", "models", "text"],
  families: [...GROUND, "cache", "checkpoint", "models", "methods", "training", "runtimes", "text"],
  conversion: [...GROUND, "checkpoint", "models", "runtimes", "text"],
  serving: [...GROUND, "cache", "checkpoint", "models", "runtimes", "text"],
  elsewhere: [...GROUND, "checkpoint", "models", "methods", "conversion", "runtimes"],
  measuring: [
    ...[...GROUND, "cache", "checkpoint", "models", "methods", "runtimes", "evaluation", "text"],
  ],
  calls: [
    ...[...GROUND, "checkpoint", "models", "methods", "families", "evaluation", "runtimes"],
    ...["cache", "conversion", "elsewhere", "measuring", "text"],
  ],
  gpu_check: [...GROUND, "calls", "evaluation", "measuring", "models", "runtimes"],
};
const LAYER_NAMES = new Set(Object.keys(LAYERS));

/** Edges that break the table, with the reason: one that is gone goes from here. */
const KNOWN_EDGES: Record<string, string> = {
  "checkpoint.load models.layout":
    "inputs are rounded by module, and which module computes with a stored layer the layout knows",
};

/** `quantization.rtn` for pare_backends/quantization/rtn.py. */
function moduleOf(path: string): string {
  return path.replace(/^.*pare_backends\//, "").replace(/(\/__init__)?\.py$/, "")
    .replaceAll("/", ".");
}

function layerOf(module: string): string {
  const [folder, ...rest] = module.split(".");
  if (rest.length === 0 && !LAYER_NAMES.has(folder!)) return "ground";
  return LAYER_NAMES.has(folder!) ? folder! : "families";
}

/** Modules to those of the package that they import, at the top, in functions or for types. */
async function pythonEdges(): Promise<Map<string, string[]>> {
  const sources = await python(["python-backends/pare_backends"]);
  const modules = new Set([...sources.keys()].map(moduleOf));
  return new Map([...sources].map(([path, { imports }]) => {
    const own = moduleOf(path);
    const targets = imports.filter((name) => name.startsWith("pare_backends."))
      .map((name) => name.slice("pare_backends.".length))
      .filter((name) => modules.has(name) && name !== own);
    // `from a import b` names both: the module that is meant is the longer one.
    return [own, targets.filter((one) => !targets.some((two) => two.startsWith(`${one}.`)))];
  }));
}

Deno.test("no TypeScript files import each other in a circle, types neither", async () => {
  const sources = await typeScript(SHIPPED);
  const edges = new Map([...sources].map(([path, { imports }]) => [path, imports]));
  assert.ok(edges.size > 300, `only ${edges.size} files were read`);
  assert.deepEqual(circles(edges), []);
});

Deno.test("no Python modules import each other in a circle, late imports and types neither", async () => {
  assert.deepEqual(circles(await pythonEdges()), []);
});

Deno.test("Python's modules import the layers below them alone", async () => {
  const edges = await pythonEdges();
  assert.ok(edges.size > 100, `only ${edges.size} modules were read`);
  const wrong = [...edges].flatMap(([own, targets]) =>
    targets.filter((target) => {
      const [from, to] = [layerOf(own), layerOf(target)];
      return from !== to && !LAYERS[from]!.includes(to);
    }).map((target) => `${own} ${target}`)
  );
  assert.deepEqual(wrong.filter((one) => KNOWN_EDGES[one] === undefined), []);
  sayGone("imports_test.ts", Object.keys(KNOWN_EDGES).filter((one) => !wrong.includes(one)));
});

Deno.test("circles() finds groups, and parseTypeScript() every form of import", () => {
  const edges = { a: ["b"], b: ["c"], c: ["a", "d"], d: ["e"], e: [], f: ["g"], g: ["f", "npm"] };
  assert.deepEqual(circles(new Map(Object.entries(edges))), [["a", "b", "c"], ["f", "g"]]);
  const text = 'import { a } from "./a.ts";\nimport type { B } from "../b.ts";\n' +
    'export * from "./c.ts";\nexport { d } from "./d.ts";\nawait import("./e.ts");\nimport "zod";';
  assert.deepEqual(parseTypeScript("core/x/y.ts", text).imports, [
    ...["core/x/a.ts", "core/b.ts", "core/x/c.ts", "core/x/d.ts", "core/x/e.ts", "zod"],
  ]);
});
