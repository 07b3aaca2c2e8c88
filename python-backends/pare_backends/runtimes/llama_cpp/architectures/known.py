"""What llama.cpp computes as transformers does: an entry an architecture, read from both sources.

llama.cpp rotates neighbouring features of a head of some architectures, where transformers rotates
a feature of its first half with one of its second: rows of the query and key projections are put
in that order. Gemma's norms multiply by one more than they store, in llama.cpp by what they store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gguf import MODEL_ARCH, GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import mixtures
from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config
from pare_backends.runtimes.llama_cpp.architectures.parts import Parts


def _no_keys(writer: GGUFWriter, config: Config) -> None:
    pass


def _nothing_else(config: Config) -> str | None:
    return None


@dataclass(frozen=True)
class Architecture:
    """llama.cpp's way to compute an architecture of transformers."""

    kind: MODEL_ARCH
    neighbours: bool = False  # whether it rotates neighbouring features
    ropes: tuple[str, ...] = ("default", "linear")  # types that it computes as transformers does;
    # none: it rotates nothing
    activations: tuple[str, ...] = ("silu",)  # names of what it computes, its own first
    activation_key: str = "hidden_act"  # where a config says it
    norm_key: str = "rms_norm_eps"  # a config's epsilon of its norms
    rotated: float = 1.0  # the share of a head that it rotates where a config does not say
    centred: bool = False  # whether its norms subtract a mean
    own_keys: Mapping[str, str] = field(default_factory=dict)  # other names for the usual keys
    turned: tuple[str, ...] = ()  # endings of matrices that lie as (in, out) in the checkpoint
    stacks: tuple[str, ...] = ()  # endings of tensors that hold all experts of a layer
    parts: Mapping[str, Parts] = field(default_factory=dict)  # by endings of what is several there
    fused: str | None = None  # a layer with each key's queries, it and its value behind each other
    by_layer: Mapping[str, Callable[[GGUFWriter, Sequence[float]], None]] = field(
        default_factory=dict
    )  # what writes tensors of one number as a key, by their endings
    norm_shift: float = 0.0  # what its norms multiply by beyond what they store
    window_period: int | None = None  # of so many layers the last sees all; None: every layer does
    kv_heads: Callable[[Config], int | None] = own.kv_heads_said  # of keys; None: as of queries
    width: Callable[[Config], int] = own.usual_width  # of the features between a block's matrices
    write_keys: Callable[[GGUFWriter, Config], None] = _no_keys
    why_not: Callable[[Config], str | None] = _nothing_else  # what it computes otherwise


TANH_GELU = ("gelu_pytorch_tanh", "gelu_new", "gelu_fast")
"""transformers' names of the gelu by a tanh, which llama.cpp reads out of a table of float16."""


GPT2 = Architecture(
    MODEL_ARCH.GPT2,
    ropes=(),
    activations=TANH_GELU,
    activation_key="activation_function",
    norm_key="layer_norm_epsilon",
    centred=True,
    own_keys={
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "intermediate_size": "n_inner",
        "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions",
    },
    turned=(".c_attn.weight", ".c_proj.weight", ".c_fc.weight"),
    why_not=own.gpt2_why_not,
)
STRETCHED = ("default", "linear", "yarn")
ALL_ROPES = (*STRETCHED, "llama3")
LLAMA = Architecture(MODEL_ARCH.LLAMA, True, ALL_ROPES)
GRANITE_MOE = Architecture(
    MODEL_ARCH.GRANITE_MOE,
    True,
    own_keys={"shared_expert_intermediate_size": "shared_intermediate_size"},
    stacks=("moe.input_linear.weight", "moe.output_linear.weight"),
    parts={
        "block_sparse_moe.input_linear.weight": Parts(
            ("mlp.experts.gate_proj.weight", "mlp.experts.up_proj.weight")
        ),
        "shared_mlp.input_linear.weight": Parts(
            ("mlp.shared_mlp.gate_proj.weight", "mlp.shared_mlp.up_proj.weight")
        ),
    },
    write_keys=mixtures.granite_moe_keys,
)
ARCHITECTURES = {
    "LlamaForCausalLM": LLAMA,
    "MistralForCausalLM": LLAMA,
    "Qwen2ForCausalLM": Architecture(MODEL_ARCH.QWEN2, ropes=STRETCHED),
    "Qwen3ForCausalLM": Architecture(MODEL_ARCH.QWEN3, ropes=STRETCHED),
    "GraniteForCausalLM": Architecture(MODEL_ARCH.GRANITE, True, write_keys=own.granite_keys),
    "Gemma2ForCausalLM": Architecture(
        MODEL_ARCH.GEMMA2,
        ropes=("default",),
        activations=TANH_GELU,
        norm_shift=1.0,
        window_period=2,
        write_keys=own.gemma2_keys,
        why_not=own.gemma2_why_not,
    ),
    "Gemma3ForCausalLM": Architecture(
        MODEL_ARCH.GEMMA3,
        activations=TANH_GELU,
        norm_shift=1.0,
        window_period=6,
        write_keys=own.gemma3_keys,
        why_not=own.gemma3_why_not,
    ),
    "Olmo2ForCausalLM": Architecture(MODEL_ARCH.OLMO2, why_not=own.olmo2_why_not),
    "SmolLM3ForCausalLM": Architecture(
        MODEL_ARCH.SMOLLM3, True, STRETCHED, why_not=own.smollm3_why_not
    ),
    "Phi3ForCausalLM": Architecture(
        MODEL_ARCH.PHI3, ropes=("default", "longrope"), write_keys=own.phi3_keys
    ),
    "GemmaForCausalLM": Architecture(
        MODEL_ARCH.GEMMA, activations=(*TANH_GELU, "gelu"), norm_shift=1.0
    ),
    "GPT2LMHeadModel": GPT2,
    "GPTNeoXForCausalLM": Architecture(
        MODEL_ARCH.GPTNEOX,
        rotated=0.25,
        ropes=("default", "linear"),
        activations=("gelu", *TANH_GELU),
        norm_key="layer_norm_eps",
        centred=True,
        own_keys={"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"},
        fused="query_key_value",
        write_keys=own.neox_keys,
    ),
    "Starcoder2ForCausalLM": Architecture(
        MODEL_ARCH.STARCODER2,
        activations=TANH_GELU,
        norm_key="norm_epsilon",
        centred=True,
    ),
    "StableLmForCausalLM": Architecture(
        MODEL_ARCH.STABLELM,
        rotated=0.25,
        norm_key="layer_norm_eps",
        centred=True,
        write_keys=own.parallel_keys,
        why_not=own.no_head_norms,
    ),
    "PhiForCausalLM": Architecture(
        MODEL_ARCH.PHI2,
        rotated=0.5,
        activations=TANH_GELU,
        norm_key="layer_norm_eps",
        centred=True,
        why_not=own.no_head_norms,
    ),
    "CohereForCausalLM": Architecture(
        MODEL_ARCH.COMMAND_R,
        norm_key="layer_norm_eps",
        centred=True,
        write_keys=own.cohere_keys,
        why_not=own.no_head_norms,
    ),
    "OlmoForCausalLM": Architecture(
        MODEL_ARCH.OLMO, True, norm_key="layer_norm_eps", centred=True, write_keys=own.olmo_keys
    ),
    "BloomForCausalLM": Architecture(
        MODEL_ARCH.BLOOM,
        ropes=(),
        activations=TANH_GELU,
        norm_key="layer_norm_epsilon",
        centred=True,
        own_keys={
            "hidden_size": "n_embed",
            "num_hidden_layers": "n_layer",
            "num_attention_heads": "n_head",
        },
        fused="query_key_value",
        why_not=own.bloom_why_not,
    ),
    "NemotronForCausalLM": Architecture(
        MODEL_ARCH.NEMOTRON,
        rotated=0.5,
        activations=("relu2",),
        norm_key="norm_eps",
        centred=True,
        norm_shift=1.0,
    ),
    "ArceeForCausalLM": Architecture(MODEL_ARCH.ARCEE, True, ALL_ROPES, activations=("relu2",)),
    "SeedOssForCausalLM": Architecture(MODEL_ARCH.SEED_OSS, ropes=STRETCHED),
    "Ernie4_5ForCausalLM": Architecture(MODEL_ARCH.ERNIE4_5, ropes=STRETCHED),
    "MixtralForCausalLM": Architecture(
        MODEL_ARCH.LLAMA, True, ALL_ROPES, write_keys=mixtures.mixture_keys
    ),
    "Qwen2MoeForCausalLM": Architecture(
        MODEL_ARCH.QWEN2MOE,
        ropes=STRETCHED,
        write_keys=mixtures.mixture_keys,
        why_not=mixtures.mixture_why_not(False),
    ),
    "Qwen3MoeForCausalLM": Architecture(
        MODEL_ARCH.QWEN3MOE,
        ropes=STRETCHED,
        write_keys=mixtures.mixture_keys,
        why_not=mixtures.mixture_why_not(True),
    ),
    "OlmoeForCausalLM": Architecture(
        MODEL_ARCH.OLMOE,
        write_keys=mixtures.mixture_keys,
        why_not=own.first_of(mixtures.a_key_for_each_head, mixtures.mixture_why_not(False)),
    ),
    "Olmo3ForCausalLM": Architecture(
        MODEL_ARCH.OLMO2,
        ropes=("default", "yarn"),
        window_period=4,
        write_keys=own.window_keys,
        why_not=own.olmo2_why_not,
    ),
    "Cohere2ForCausalLM": Architecture(
        MODEL_ARCH.COHERE2,
        ropes=("default",),
        norm_key="layer_norm_eps",
        centred=True,
        window_period=4,
        write_keys=own.cohere2_keys,
        why_not=own.cohere2_why_not,
    ),
    "GlmForCausalLM": Architecture(
        MODEL_ARCH.CHATGLM, ropes=("default",), rotated=0.5, why_not=own.glm_why_not
    ),
    "Glm4ForCausalLM": Architecture(MODEL_ARCH.GLM4, ropes=("default",), rotated=0.5),
    "Exaone4ForCausalLM": Architecture(
        MODEL_ARCH.EXAONE4, ropes=("default", "llama3"), why_not=own.exaone4_why_not
    ),
    "HunYuanDenseV1ForCausalLM": Architecture(
        MODEL_ARCH.HUNYUAN_DENSE, ropes=("default", "dynamic")
    ),
    "GPTBigCodeForCausalLM": replace(
        GPT2,
        kind=MODEL_ARCH.STARCODER,
        turned=(),
        kv_heads=own.bigcode_kv_heads,
        why_not=own.bigcode_why_not,
    ),
    "Lfm2ForCausalLM": Architecture(
        MODEL_ARCH.LFM2,
        ropes=("default",),
        norm_key="norm_eps",
        own_keys={"intermediate_size": "block_ff_dim"},
        width=own.lfm2_width,
        write_keys=own.lfm2_keys,
        why_not=own.lfm2_why_not,
    ),
    "Glm4MoeForCausalLM": Architecture(
        MODEL_ARCH.GLM4_MOE,
        ropes=("default",),
        rotated=0.5,
        own_keys={"num_experts": "n_routed_experts"},
        write_keys=mixtures.sigmoid_keys,
        why_not=own.takes(n_group=1),
    ),
    "Ernie4_5_MoeForCausalLM": Architecture(
        MODEL_ARCH.ERNIE4_5_MOE,
        ropes=("default",),
        own_keys={
            "num_experts": "moe_num_experts",
            "num_experts_per_tok": "moe_k",
            "n_shared_experts": "moe_num_shared_experts",
            "first_k_dense_replace": "moe_layer_start_index",
        },
        write_keys=mixtures.ernie_moe_keys,
        why_not=mixtures.ernie_moe_why_not,
    ),
    "Lfm2MoeForCausalLM": Architecture(
        MODEL_ARCH.LFM2MOE,
        ropes=("default",),
        norm_key="norm_eps",
        own_keys={"first_k_dense_replace": "num_dense_layers"},
        write_keys=mixtures.lfm2_moe_keys,
        why_not=own.takes(
            conv_bias=False,
            use_expert_bias=True,
            norm_topk_prob=True,
            routed_scaling_factor=1.0,
            tie_word_embeddings=True,
        ),
    ),
    "HunYuanMoEV1ForCausalLM": Architecture(
        MODEL_ARCH.HUNYUAN_MOE,
        ropes=("default", "dynamic"),
        own_keys={"num_experts_per_tok": "moe_topk"},
        write_keys=mixtures.hunyuan_moe_keys,
        why_not=own.first_of(
            own.takes(attention_bias=False), mixtures.alike("num_experts_per_tok")
        ),
    ),
    "Dots1ForCausalLM": Architecture(
        MODEL_ARCH.DOTS1,
        ropes=("default",),
        own_keys={"num_experts": "n_routed_experts"},
        write_keys=mixtures.sigmoid_keys,
        why_not=own.first_of(own.olmo2_why_not, mixtures.a_key_for_each_head, own.takes(n_group=1)),
    ),
    "MiniMaxM2ForCausalLM": Architecture(
        MODEL_ARCH.MINIMAXM2,
        ropes=("default",),
        write_keys=mixtures.sigmoid_keys,
        why_not=own.olmo2_why_not,
    ),
    "GraniteMoeForCausalLM": replace(GRANITE_MOE, own_keys={}),
    "GraniteMoeSharedForCausalLM": GRANITE_MOE,
    "GptOssForCausalLM": Architecture(
        MODEL_ARCH.GPT_OSS,
        ropes=("default", "yarn"),
        turned=("mlp.experts.gate_up_proj", "mlp.experts.down_proj"),
        stacks=("_proj", "_proj_bias"),
        parts={
            "experts.gate_up_proj": Parts(
                ("experts.gate_proj.weight", "experts.up_proj.weight"), by_turns=True
            ),
            "experts.gate_up_proj_bias": Parts(
                ("experts.gate_proj.bias", "experts.up_proj.bias"), by_turns=True
            ),
        },
        window_period=2,
        write_keys=mixtures.gpt_oss_keys,
        why_not=own.first_of(own.olmo2_why_not, own.takes(attention_bias=True, swiglu_limit=7.0)),
    ),
    "FalconForCausalLM": Architecture(
        MODEL_ARCH.FALCON,
        ropes=("default",),
        activations=("gelu", *TANH_GELU),
        activation_key="activation",
        norm_key="layer_norm_epsilon",
        centred=True,
        own_keys={
            "num_hidden_layers": "n_layer",
            "num_attention_heads": "n_head",
            "intermediate_size": "ffn_hidden_size",
        },
        fused="query_key_value",
        kv_heads=own.falcon_kv_heads,
        why_not=own.takes(alibi=False, bias=False, parallel_attn=True),
    ),
    "Jais2ForCausalLM": Architecture(
        MODEL_ARCH.JAIS2,
        ropes=("default",),
        activations=("relu2",),
        norm_key="layer_norm_eps",
        centred=True,
        why_not=own.takes(attention_bias=True, mlp_bias=True),
    ),
    "ApertusForCausalLM": Architecture(
        MODEL_ARCH.APERTUS,
        ropes=("default", "llama3"),
        activations=("xielu",),
        by_layer={
            ".act_fn.alpha_n": GGUFWriter.add_xielu_alpha_n,
            ".act_fn.alpha_p": GGUFWriter.add_xielu_alpha_p,
            ".act_fn.beta": GGUFWriter.add_xielu_beta,
            ".act_fn.eps": GGUFWriter.add_xielu_eps,
        },
        why_not=own.olmo2_why_not,
    ),
}


def why_no_windows(architecture: Architecture, config: Config) -> str | None:
    """Why llama.cpp would attend to other tokens than the model does; None: to the same."""
    window = config.get("sliding_window")
    if not config.get("use_sliding_window", True):
        window = None
    period = architecture.window_period
    longest = int(config.get("max_position_embeddings") or 0)
    if period is None and window is not None and int(window) >= longest:
        window = None  # it leaves out no token of any text
    kinds = config.get("layer_types") or []
    if period is None:
        if window is None or (kinds and "sliding_attention" not in kinds):
            return None
        return (
            f"its sliding_window is {window}, llama.cpp's {architecture.kind.name.lower()}"
            " attends to every token"
        )
    if window is None:
        return f"it has no sliding_window, llama.cpp's {architecture.kind.name.lower()} has one"
    expected = [
        "full_attention" if (i + 1) % period == 0 else "sliding_attention"
        for i in range(int(config["num_hidden_layers"]))
    ]
    if kinds and list(kinds) != expected:
        return f"not every {period}th of its layers, and no other, sees all tokens, as in llama.cpp"
    return None
