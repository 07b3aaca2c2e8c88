import type { Diagnosis } from "./diagnosis.ts";

const OWN_ENVIRONMENT =
  "install vLLM anew in an empty environment, without naming torch or an index: `pip install vllm`";

const OUTDATED =
  '`pip install "numpy<2.0"` and `torch==2.9.1`: vLLM 0.33 needs numpy 2 and pins a ' +
  "torch of its own";

/** What was installed wrongly. */
export const INSTALL_ROWS: readonly Diagnosis[] = [
  {
    name: "torch_without_cuda",
    question: "What is libtorch_cuda.so: cannot open shared object file?",
    pattern: /libtorch_cuda\.so: cannot open shared object file/,
    cause: "a torch for CPUs lies where vLLM looks for one with CUDA",
    remedies: [
      { says: OWN_ENVIRONMENT },
      { says: "see that `python -c 'import torch; print(torch.cuda.is_available())'` says True" },
    ],
    outdated: OUTDATED,
  },
  {
    name: "torch_of_another_build",
    question: "What is an undefined symbol such as _ZN3c104cuda…?",
    pattern: /undefined symbol: _ZN\w*(?:c10|at|torch)/,
    cause: "vLLM was compiled for another torch than the one that is installed",
    remedies: [{ says: `${OWN_ENVIRONMENT} --no-cache-dir` }],
    outdated: OUTDATED,
  },
  {
    name: "torch_pin_broken",
    question: "Why does an index of CUDA install the wrong torch?",
    pattern: /vllm \S+ requires torch==\S+, but you have torch/,
    cause: "the index of a CUDA release has its newest torch, vLLM pins one",
    remedies: [{ says: OWN_ENVIRONMENT }],
    outdated:
      "the table of torch by index (cu126, cu124, cu121): each index moves on with its releases",
  },
  {
    name: "numpy_of_another_major",
    question: "What is the warning on NumPy 1.x and 2.x?",
    pattern: /compiled using NumPy 1\.x cannot be run in\s+NumPy 2/,
    cause: "a package was compiled for NumPy 1 and is older than the others",
    remedies: [{ says: "upgrade the package that the traceback names" }],
    outdated: '`pip install "numpy<2.0"`: vLLM 0.33 does not run with it',
  },
  {
    name: "program_missing",
    question: "What if the server's program is not there?",
    pattern: /ENOENT|command not found|No module named '?(?:vllm|sglang|tensorrt_llm)/,
    cause: "the server is not installed where it is looked for",
    remedies: [{ says: "install it, or name a runtime that is here: `pare doctor` lists them" }],
  },
];
