"""Windows as channels, and convolutions with a kernel for every place, against sums in Python."""

import numpy as np
import pytest

from tinytrace import lax

DRAWN = np.random.RandomState(0)
IMAGE = DRAWN.randn(2, 3, 5, 6).astype("f")


def test_patches_are_windows():
    patches = np.asarray(lax.conv_general_dilated_patches(IMAGE, (2, 3), (1, 1), "VALID"))
    assert patches.shape == (2, 18, 4, 4)
    for i, j in np.ndindex(4, 4):
        np.testing.assert_allclose(patches[:, :, i, j], IMAGE[:, :, i:i + 2, j:j + 3].reshape(2, 18), rtol=1e-6)


@pytest.mark.parametrize("numbers", [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NCHW"), ("NCHW", "OIHW", "NWHC")])
def test_a_kernel_for_every_place(numbers):
    kernels = DRAWN.randn(4, 18, 4, 4).astype("f")  # O I H W
    patches = np.asarray(lax.conv_general_dilated_patches(IMAGE, (2, 3), (1, 1), "VALID"))
    wanted = np.einsum("nphw,ophw->nohw", patches, kernels)
    image = IMAGE.transpose(["NCHW".index(c) for c in numbers[0]])
    kernel = kernels.transpose(["OIHW".index(c) for c in numbers[1]])
    found = lax.conv_general_dilated_local(image, kernel, (1, 1), "VALID", (2, 3), dimension_numbers=numbers)
    np.testing.assert_allclose(found, wanted.transpose(["NCHW".index(c) for c in numbers[2]]), atol=1e-5)


def test_strides_and_padding():
    patches = np.asarray(lax.conv_general_dilated_patches(IMAGE, (2, 3), (1, 2), "SAME"))
    assert patches.shape == (2, 18, 5, 3)
    padded = np.pad(IMAGE, ((0, 0), (0, 0), (0, 1), (0, 1)))
    for i, j in np.ndindex(5, 3):
        window = padded[:, :, i:i + 2, 2 * j:2 * j + 3]
        np.testing.assert_allclose(patches[:, :, i, j], window.reshape(2, 18), rtol=1e-6)
