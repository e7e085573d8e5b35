"""Types of arguments of `jax.lax`, for annotations."""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.primitives.convolution_dimensions import ConvDimensionNumbers
from tinytrace.primitives.precision import DotAlgorithm, DotAlgorithmPreset, Precision

PrecisionLike = (str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset
                 | None)
"""What says how exact a product is."""
DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]
"""Which dimensions of two operands are summed over, and which are batches."""
ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None
"""What the dimensions of the operands and of the result of a convolution are."""
