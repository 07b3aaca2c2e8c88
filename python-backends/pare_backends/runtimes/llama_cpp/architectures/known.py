"""What llama.cpp computes as transformers does: by the architecture, read from both sources."""

from __future__ import annotations

from pare_backends.runtimes.llama_cpp.architectures.dbrx import DBRX
from pare_backends.runtimes.llama_cpp.architectures.dense import DENSE
from pare_backends.runtimes.llama_cpp.architectures.falcon_h1 import FALCON_H1
from pare_backends.runtimes.llama_cpp.architectures.gemma.gemma3n import GEMMA3N
from pare_backends.runtimes.llama_cpp.architectures.gemma.gemma4 import GEMMA4
from pare_backends.runtimes.llama_cpp.architectures.hybrid import HYBRIDS
from pare_backends.runtimes.llama_cpp.architectures.jamba import JAMBA
from pare_backends.runtimes.llama_cpp.architectures.kimi import KIMI
from pare_backends.runtimes.llama_cpp.architectures.latent import LATENT
from pare_backends.runtimes.llama_cpp.architectures.linear_attention import LINEAR_ATTENTION
from pare_backends.runtimes.llama_cpp.architectures.mamba import MAMBAS
from pare_backends.runtimes.llama_cpp.architectures.mimo import MIMO
from pare_backends.runtimes.llama_cpp.architectures.mixed import MIXED
from pare_backends.runtimes.llama_cpp.architectures.newer.cohere2_moe import COHERE2_MOE
from pare_backends.runtimes.llama_cpp.architectures.newer.deepseek32 import DEEPSEEK32
from pare_backends.runtimes.llama_cpp.architectures.newer.granite_swa import GRANITE_SWA
from pare_backends.runtimes.llama_cpp.architectures.newer.hy_v3 import HY_V3
from pare_backends.runtimes.llama_cpp.architectures.newer.hy_v4 import HY_V4
from pare_backends.runtimes.llama_cpp.architectures.newer.laguna import LAGUNA
from pare_backends.runtimes.llama_cpp.architectures.newer.mellum import MELLUM
from pare_backends.runtimes.llama_cpp.architectures.tempered import TEMPERED

ARCHITECTURES = {
    **DENSE, **MIXED, **LATENT, **LINEAR_ATTENTION, **HYBRIDS, **FALCON_H1, **JAMBA, **GEMMA4,
    **DBRX, **KIMI, **MAMBAS, **TEMPERED, **MIMO, **GEMMA3N,
    **GRANITE_SWA, **MELLUM, **COHERE2_MOE, **HY_V3, **LAGUNA, **DEEPSEEK32, **HY_V4,
}  # fmt: skip
UNLIKE = dict.fromkeys(
    ("PhimoeForCausalLM", "PhiMoEForCausalLM"),
    "llama.cpp subtracts no mean in its norms and has the weights of a token's two experts sum to"
    " one, where the model subtracts it and weighs each expert by itself, mostly by one",
)
"""Why none is written of what llama.cpp has under a name, and computes otherwise."""
