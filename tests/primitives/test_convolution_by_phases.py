"""A convolution of an image with holes is several of the image itself."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tinytrace import lax
from tinytrace.primitives import convolution_by_phases
from tinytrace.primitives.convolution_by_phases import MUCH_WORK, phases

small = st.integers(1, 5)


@pytest.mark.not_quick
@examples(24, fast=8)
@given(st.lists(st.tuples(small, small, st.integers(1, 4), st.integers(-1, 4), st.integers(-1, 4)), min_size=1,
                max_size=2), st.sampled_from([(1, 1), (2, 1), (1, 2)]), st.booleans())
def test_results_are_those_of_the_image_with_holes(dimensions, groups, channels_last):
    sizes, taps, holes, low, high = zip(*dimensions, strict=True)
    numbers = {(1, True): ("NWC", "WIO", "NWC"), (1, False): ("NCW", "OIW", "NCW"),
               (2, True): ("NHWC", "HWIO", "NHWC"), (2, False): ("NCHW", "OIHW", "NCHW")}[len(sizes), channels_last]
    if any((size - 1) * hole + 1 + a + b < 0 for size, hole, a, b in zip(sizes, holes, low, high, strict=True)):
        return
    rng = np.random.default_rng(0)
    image, kernel = rng.integers(-3, 4, (2, 4, *sizes)), rng.integers(-3, 4, (6, 4 // groups[0], *taps))
    if channels_last:
        image, kernel = np.moveaxis(image, 1, -1), np.moveaxis(kernel, (0, 1), (-1, -2))

    def convolved(least):
        before, convolution_by_phases.MUCH_WORK = MUCH_WORK, least
        try:
            return jax.jit(lambda x, w: lax.conv_general_dilated(
                x, w, (1,) * len(sizes), list(zip(low, high, strict=True)), holes, None, numbers, *groups))(
                    image.astype(np.float32), kernel.astype(np.float32))
        finally:
            convolution_by_phases.MUCH_WORK = before

    np.testing.assert_array_equal(convolved(0), convolved(1 << 60))  # numbers are whole: sums are exact in any order


@settings(deadline=None)
@given(small, st.integers(2, 9), st.integers(-3, 6), st.integers(1, 20), st.integers(2, 4))
def test_every_tap_belongs_to_one_phase(size, taps, low, places, step):
    found = phases(size, taps, low, places, step)
    assert sorted(tap for phase in found for tap in range(phase.first, taps, step)) == list(range(taps))
    for phase in found:
        count = len(range(phase.first, taps, step))
        assert size + sum(phase.pads) - count + 1 == math.ceil(places / step)


@pytest.mark.parametrize(("channels", "several"), [(1, False), (64, True)])
def test_much_work_is_divided(channels, several):
    image, kernel = jnp.ones((2, 16, 16, channels)), jnp.ones((4, 4, channels, channels))
    text = jax.jit(lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME")).lower(image, kernel).as_text()
    assert (2 * 32 * 32 * channels ** 2 * 16 >= MUCH_WORK) == several
    assert (text.count("host->sgemm") + text.count("tt_sgemm") > 1) == several
