"""What stands between the conversions of a strip of float16: the texts; `test_half_strips.py` has the values."""
import functools
import re

import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.ir.inserted_operations import half_by_number
from tinytrace.codegen.passes import half_strips
from tinytrace.core.dtypes import FLOAT16

bits_of = functools.partial(jax.lax.bitcast_convert_type, new_dtype=np.int16)
of_bits = functools.partial(jax.lax.bitcast_convert_type, new_dtype=np.float16)


def text_of(function, *shapes):
    return jax.jit(function).lower(*(jax.ShapeDtypeStruct(shape, np.float16) for shape in shapes)).as_text()


def test_bits_of_what_is_computed_are_a_strip_of_their_own():
    """In the midst of a loop a conversion takes a dozen integer operations."""
    def conversions(function):
        text = text_of(function, (1024,))
        return set(re.findall(r"tt_\w*f16", text)) - {"tt_widen_f16", "tt_narrow_f16"}

    assert not conversions(jnp.frexp) | conversions(lambda x: (bits_of(x * x) & 9, of_bits(bits_of(x) & 9) * x))
    assert conversions(jnp.spacing) == {"tt_nextafter_words_f16"}
    assert half_strips.OWN not in text_of(lambda: jnp.arange(1024, dtype=np.float16))


def test_quotients_by_numbers_are_products_where_all_are_the_same():
    def divides(function):
        return [" / " in part for part in re.sub(r"/\*.*?\*/", "", text_of(function, (1024,)), flags=re.DOTALL)
                .split("#else")]

    assert divides(lambda x: x / 3 + x) == [False]
    assert divides(lambda x: x / 1000) == [True, True]  # 0.0003874 becomes 3.6e-07, and 4e-07 as a product
    assert divides(lambda x: (((x * x + x) * x + 1) * x) / 3) == [True, False]  # CPUs with such floats divide
    for divisor in (3, 10, 0.1, 2.302734375, 1e-4):
        assert half_by_number(FLOAT16, float(np.float16(divisor)))[1] == np.float32(1) / np.float16(divisor)
    assert half_by_number(FLOAT16, 0.0) is half_by_number(FLOAT16, 1000.0) is None
