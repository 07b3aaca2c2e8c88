"""A GPU that is not there: tensors that say they are on `cuda:0` and compute on the CPU, so that a
machine without one finds what would meet across devices. As a program it takes the arguments of
`pare_backends.gpu_check`.

Libraries that look for a GPU themselves find none; what C++ alone decides by device is not seen:
where memory lies, and an index that autograd makes for a mask.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only

GPU = torch.device("cuda", 0)
ACROSS = {
    "aten._to_copy.default",
    "aten.copy_.default",
    "aten.index.Tensor",
    "aten.index_put_.default",
    "aten._index_put_impl_.default",
}
"""What takes tensors of the CPU beside those of a GPU."""


COUNTED = [0]
"""Operations on the GPU so far."""


class OnGpu(torch.Tensor):
    """A tensor that says it is on the GPU."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> OnGpu:
        return torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined, no-any-return]
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            layout=held.layout,
            device="cpu",
            requires_grad=held.requires_grad,
        )

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return GPU

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True

    def numpy(self, *arguments: Any, **named: Any) -> Any:
        raise TypeError("can't convert a tensor on cuda:0 to numpy: take .cpu() first")

    def cpu(self, *arguments: Any) -> torch.Tensor:
        return torch.ops.aten._to_copy.default(self, device=torch.device("cpu"))

    def to(self, *arguments: Any, **named: Any) -> torch.Tensor:
        if arguments and isinstance(arguments[0], torch.Tensor):
            arguments = (arguments[0].device, arguments[0].dtype)
        named.pop("copy", None)
        device, dtype = torch._C._nn._parse_to(*arguments, **named)[:2]
        if device is not None and device.type == "cpu":
            return torch.ops.aten._to_copy.default(self, dtype=dtype, device=device)
        return self if dtype is None else super().to(dtype)

    @classmethod
    def __torch_dispatch__(
        cls, call: Any, types: Any, arguments: tuple[Any, ...] = (), named: Any = None
    ) -> Any:
        return computed(call, arguments, named or {})


def computed(call: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The call on the CPU, refused where a GPU would refuse it."""
    tensors = [one for one in tree_leaves((arguments, named)) if isinstance(one, torch.Tensor)]
    there = any(isinstance(one, OnGpu) for one in tensors)
    here = [one for one in tensors if not isinstance(one, OnGpu) and one.dim() > 0]
    name = str(call)
    if there and here and name not in ACROSS:
        shapes = [tuple(one.shape) for one in here]
        raise RuntimeError(f"Expected all tensors on the same device: {name}, on the CPU {shapes}")
    if there and isinstance(named.get("generator"), torch.Generator):
        raise RuntimeError(f"Expected a 'cuda' device type for generator but found 'cpu': {name}")
    COUNTED[0] += there
    onto = there
    if named.get("device") is not None:
        onto = torch.device(named["device"]).type == "cuda"
        named = {**named, "device": torch.device("cpu")}
    if name == "aten.copy_.default":
        onto = isinstance(arguments[0], OnGpu)
    own, words = tree_map_only(OnGpu, lambda one: one.held, (arguments, named))
    made = call(*own, **words)
    if not onto:
        return made
    made = tree_map_only(torch.Tensor, lambda t: t if isinstance(t, OnGpu) else OnGpu(t), made)
    return return_and_correct_aliasing(call, arguments, named, made) if there else made


class WithGpu(TorchDispatchMode):
    """Catches what is made on the GPU."""

    def __torch_dispatch__(
        self, call: Any, types: Any, arguments: tuple[Any, ...] = (), named: Any = None
    ) -> Any:
        return computed(call, arguments, named or {})


def on_cpu(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.cpu() for name, tensor in tensors.items()}


def pretend() -> None:
    """From now on this process has a GPU."""
    import safetensors.torch

    import pare_backends.device

    pare_backends.device.run_device = lambda: str(GPU)
    pare_backends.device.computes_on = lambda device, threads: "a pretended GPU"
    torch._C._ensureCUDADeviceGuardSet()
    torch._C._set_only_lift_cpu_tensors(True)
    torch.__future__.set_swap_module_params_on_conversion(True)
    torch.inference_mode = lambda mode=True: torch.no_grad()  # type: ignore[assignment, misc]
    save = safetensors.torch.save_file
    safetensors.torch.save_file = lambda tensors, *a, **k: save(on_cpu(tensors), *a, **k)
    nothing = lambda *arguments: None  # noqa: E731
    torch.cuda._lazy_init = torch.cuda.synchronize = nothing
    torch.cuda.empty_cache = torch.cuda.reset_peak_memory_stats = nothing
    torch.cuda.max_memory_allocated = lambda *arguments: 0
    torch.cuda.mem_get_info = lambda *arguments: (2**40, 2**40)
    WithGpu().__enter__()


if __name__ == "__main__":
    pretend()
    from pare_backends.gpu_check.__main__ import main

    ended = main(sys.argv[1:])
    print(COUNTED[0], "operations on the GPU")
    sys.exit(ended)
