"""What the stages say of a program: its cost and memory are those of its kernels, and no other language is claimed."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp

X = np.ones((30, 20), np.float32)


def lowered(function, *args, **options):
    return jax.jit(function, **options).lower(*args)


def test_cost_is_that_of_the_kernels():
    program = lowered(lambda x: jnp.sin(x @ x.T).sum(), X)
    cost = program.cost_analysis()
    assert cost["flops"] == sum(kernel.flops for kernel in program.kernels) >= 2 * 30 * 20 * 30
    assert cost["bytes accessed"] == sum(kernel.bytes_read + kernel.bytes_written for kernel in program.kernels)
    assert program.compile().cost_analysis() == [cost]
    assert lowered(lambda x: x * 2 + 1, X).cost_analysis() == {"flops": 1200.0, "bytes accessed": 4800.0}


def test_memory_is_that_of_arguments_results_and_workspace():
    compiled = lowered(lambda x, y: jnp.sin(x @ x.T) @ y, X, np.ones((30, 3), np.float32)).compile()
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (2400 + 360, 360)
    assert memory.temp_size_in_bytes >= 3600
    assert memory.alias_size_in_bytes == 0
    assert memory.generated_code_size_in_bytes == compiled.runtime_executable().size > 0


def test_results_in_donated_arguments_are_counted():
    memory = lowered(lambda x, y: (x + y, 3 * y), X, X, donate_argnums=0).compile().memory_analysis()
    assert memory.alias_size_in_bytes == X.nbytes


def test_the_program_is_c_or_a_jaxpr():
    program = lowered(lambda x: x + 1, X)
    assert program.compiler_ir() is program.compiler_ir("c") is program.source
    assert program.compiler_ir("jaxpr") is program.jaxpr
    for ask in (program.compiler_ir, program.as_text):
        with pytest.raises(ValueError, match=r"^unknown dialect: hlo\. Programs become C here: there are 'c' and "):
            ask("hlo")
        with pytest.raises(ValueError, match=r"^unknown dialect: nope$"):
            ask("nope")
