"""Convolutions: of many channels, of few, with a kernel for each channel; and the gradient."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting

LAYOUTS = {"NHWC": ("NHWC", "HWIO", "NHWC"), "NCHW": ("NCHW", "OIHW", "NCHW"), "NCH": ("NCH", "OIH", "NCH")}


def _convolution(name: str, layout: str, image: tuple[int, ...], kernel: tuple[int, ...], stride: int = 1,
                 groups: int = 1, gradient: bool = False, target: float = 1.0) -> None:
    """A line; image and kernel as the layout has them. torch takes channels first: of others it gets a view."""
    rank = len(image) - 2
    pad = kernel[LAYOUTS[layout][1].index("H")] // 2

    def convolved(jax: Any) -> Callable[..., Any]:
        return lambda x, w: jax.lax.conv_general_dilated(
            x, w, (stride,) * rank, ((pad, pad),) * rank, dimension_numbers=LAYOUTS[layout], feature_group_count=groups)

    def jaxlike(jax, jnp, x, w) -> Call:
        f = convolved(jax)
        if not gradient:
            return waiting(jax.jit(f), x, w)
        grad = jax.jit(jax.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1)))
        return lambda: [g.block_until_ready() for g in grad(x, w)]

    def torch_like(x, w) -> Call:
        import torch
        f = getattr(torch.nn.functional, f"conv{rank}d")
        last = layout.endswith("C")
        x, w = (x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)) if last else (x, w)
        order = (0, 2, 3, 1) if last else tuple(range(rank + 2))
        return lambda: f(x, w, stride=stride, padding=pad, groups=groups).permute(*order)

    places = np.prod([image[k] / stride for k, c in enumerate(layout) if c in "HW"]) * image[0]
    flops = 2.0 * places * np.prod(kernel)
    add(Line(name, target, lambda: (normal(*image), normal(*kernel, seed=1)), jaxlike, None if gradient else torch_like,
             flops=3 * flops if gradient else flops, bytes=4.0 * np.prod(image), tolerance=5e-3))


_convolution("convolution 3x3 NHWC 8x56x56x64", "NHWC", (8, 56, 56, 64), (3, 3, 64, 64))
_convolution("convolution 3x3 NCHW 8x64x56x56", "NCHW", (8, 64, 56, 56), (64, 64, 3, 3))
_convolution("convolution 3x3 NHWC 4x28x28x64: gradient", "NHWC", (4, 28, 28, 64), (3, 3, 64, 64), gradient=True)
_convolution("convolution 7x7/2 NHWC 4x224x224x3", "NHWC", (4, 224, 224, 3), (7, 7, 3, 64), stride=2)
_convolution("convolution 5 NCH 16x64x1000", "NCH", (16, 64, 1000), (64, 64, 5))
_convolution("depthwise 3x3 NHWC 8x56x56x64", "NHWC", (8, 56, 56, 64), (3, 3, 1, 64), groups=64, target=0.5)
_convolution("depthwise 3x3 NCHW 8x64x56x56", "NCHW", (8, 64, 56, 56), (64, 1, 3, 3), groups=64, target=0.5)
