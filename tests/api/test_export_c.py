"""`export_c`: C files that build with plain compilers, without a warning, and give the bits of the jitted call."""
import fcntl
import hashlib
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.api.build_files import HOST_FLAGS, build_flags
from tinytrace.api.export_c import LARGEST_CONSTANT, ExportError
from tinytrace.csources import host_source, standalone_host
from tinytrace.runtime.blas import blas_path

random = np.random.default_rng(0)


def normal(*shape):
    return random.normal(size=shape).astype(np.float32)


def selu(x, alpha=1.67, lambda_=1.05):
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def softmax(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def loss(params, x, y):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return ((x @ w + b - y) ** 2).mean()


def mlp_step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def rnn(params, xs):
    def cell(h, x):
        h = jnp.tanh(params["w"] @ h + params["u"] @ x)
        return h, h.sum()
    return jax.lax.scan(cell, jnp.zeros(16), xs)


def n_body(state, dt):
    mass = jnp.arange(1.0, 9.0)

    def step(_, state):
        position, velocity = state
        apart = position[None] - position[:, None]
        inverse = (jnp.sum(apart ** 2, -1) + 1e-3) ** -1.5
        velocity = velocity + dt * jnp.einsum("ijk,ij,j->ik", apart, inverse, mass)
        return position + dt * velocity, velocity
    return jax.lax.fori_loop(0, 10, step, state)


def oddities(x, flag, key, half, n):
    """Results handed through, equal ones, constants with all kinds of numbers, types of all sizes, a parallel loop."""
    table = jnp.array([np.nan, -np.inf, -0.0, 1e-40, 3.4e38, 0.1])
    big = jnp.sin(x) * 2
    return {"int": n, "same": (big, big), "x": x, "table": table, "picked": table[n % 6], "half": half * 2,
            "not": ~flag, "draw": jax.random.uniform(key, (4,)), "i8": jnp.int8(-128), "none": jnp.zeros((0, 3))}


PROGRAMS = {
    "selu": (selu, (normal(1000),)),
    "softmax": (softmax, (normal(16, 100),)),
    "mlp_step": (mlp_step, ([(normal(64, 128), normal(128)), (normal(128, 10), normal(10))], normal(32, 64),
                            normal(32, 10))),
    "rnn": (rnn, ({"w": normal(16, 16) / 4, "u": normal(16, 8)}, normal(20, 8))),
    "n_body": (n_body, ((normal(8, 3), normal(8, 3)), 0.01)),
    "oddities": (oddities, (normal(300, 1000), np.array([True, False]), jax.random.PRNGKey(3),
                            np.arange(5, dtype=np.float16), 5)),
}


def compilers():
    found = [name for name in ("gcc", "clang") if shutil.which(name)]
    return found or [pytest.param("cc", marks=pytest.mark.skip("no C compiler"))]


def leaves_in_bytes(tree):
    return b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree))


def build(exported, folder, compiler):
    """Build the example, warnings are errors; the host is the same for all, and compiled once."""
    exported.save(folder)
    sources = [name for name in exported.files if name.endswith(".c")]
    if "tt_host.c" in sources:
        sources[sources.index("tt_host.c")] = host_object(folder, compiler)
    compile_c([compiler, *build_flags(compiler, False), *sources, "-o", "example", "-lm", "-lpthread", "-ldl"], folder)


def host_object(folder, compiler):
    """The host as an object file, made as the Makefile says; all processes of a test run share it."""
    words = [compiler, *HOST_FLAGS.split()]
    key = hashlib.sha256(repr([words, blas_path(), (folder / "tt_host.c").read_text()]).encode()).hexdigest()
    kept = folder.parent.parent / f"tt_host-{key}.o"
    with open(kept.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # who comes meanwhile waits: it takes seconds
        if not kept.exists():
            compile_c([*words, "-c", "tt_host.c", "-o", "tt_host.o"], folder)
            os.replace(folder / "tt_host.o", kept)
    return str(kept)


def compile_c(words, folder):
    compiler, *others = words
    warnings = "-Wall", "-Wextra", "-Werror"
    done = subprocess.run([compiler, *warnings, f'-DTT_BLAS="{blas_path()}"', *others], cwd=folder,
                          capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


def run(exported, folder, args):
    (folder / "in").write_bytes(leaves_in_bytes([jnp.asarray(x) for x in jax.tree.leaves(args)]))
    subprocess.run(["./example", "in", "out"], cwd=folder, check=True, timeout=60)
    return (folder / "out").read_bytes()


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_builds_without_a_warning_and_agrees_to_the_bit(name, compiler, tmp_path):
    fun, args = PROGRAMS[name]
    jax.config.update("compiler", compiler)
    jitted = jax.jit(fun)
    exported = jax.export_c(jitted)(*args)
    build(exported, tmp_path, compiler)
    assert run(exported, tmp_path, args) == leaves_in_bytes(jitted(*args))


@pytest.fixture
def put_back():
    before = jax.config.values
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    jax.clear_caches()


@pytest.mark.not_quick
@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_its_makefile_builds_it(tmp_path):
    """Its flags are those of the jitted call; OpenBLAS is found where tinytrace has it."""
    fun, args = PROGRAMS["mlp_step"]
    exported = jax.export_c(fun)(*args)
    exported.save(tmp_path)
    planned = subprocess.run(["make", "-n", "--no-print-directory", "CC=gcc", "tt_host.o"], cwd=tmp_path,
                             capture_output=True, text=True)
    assert planned.stdout == f"gcc {HOST_FLAGS} -DTT_BLAS='\"{blas_path()}\"' -c tt_host.c\n"
    shutil.copy(host_object(tmp_path, "gcc"), tmp_path / "tt_host.o")  # so it was made: not once more, for seconds
    done = subprocess.run(["make", "-s", "CC=gcc"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert run(exported, tmp_path, args) == leaves_in_bytes(jax.jit(fun)(*args))
    assert build_flags("gcc", False).count("-ffp-contract=off") == 1


def test_its_cmake_list_names_the_same_flags():
    text = jax.export_c(mlp_step)(*PROGRAMS["mlp_step"][1]).files["CMakeLists.txt"]
    for family in ("gcc", "clang"):
        assert all(flag in text for flag in build_flags(family, False))


def test_small_programs_need_no_host():
    exported = jax.export_c(selu)(jnp.arange(5.0))
    assert list(exported.files) == ["selu.h", "selu.c", "example.c", "Makefile", "CMakeLists.txt"]
    assert "tt_host.c" in jax.export_c(mlp_step)(*PROGRAMS["mlp_step"][1]).files


def test_the_header_says_how_it_is_called():
    header = str(jax.export_c(lambda p, n: {"new": p["w"] * n}, name="scale")({"w": jnp.ones((2, 3))}, 2))
    assert "int scale(const float *p_w, int32_t n, float *out_new);" in header
    assert " * in  p_w      f32[2,3]  p['w']" in header.splitlines()


def test_shapes_are_enough():
    struct = jax.ShapeDtypeStruct((3,), jnp.float32)
    assert "const float *x" in str(jax.export_c(softmax)(struct))


def test_names_of_users_are_names_of_c_and_differ():
    def double(int, x_0, x, *, exp):
        return int + x_0 + x[0] + exp
    header = str(jax.export_c(double)(1.0, 2.0, [3.0], exp=4.0))
    assert "int double_(float int_, float x_0, float x_0_2, float exp_, float *out);" in header
    assert "*/ evil" not in str(jax.export_c(lambda p: p["*/ evil"])({"*/ evil": 1.0}))


@pytest.mark.parametrize("name", ["exp", "tt_entry", "a b", "", "3d", "main"])
def test_a_name_that_c_cannot_have_is_refused(name):
    with pytest.raises(ExportError, match="cannot be the name of a C function"):
        jax.export_c(selu, name=name)


def test_what_needs_python_is_refused():
    def noisy(x):
        jax.debug.print("{}", x)
        return x + 1
    with pytest.raises(ExportError, match=r"export_c: noisy calls Python .* export the parts around"):
        jax.export_c(noisy)(1.0)


def test_an_array_that_is_too_large_for_c_is_refused():
    large = jnp.zeros(LARGEST_CONSTANT // 4 + 1)
    with pytest.raises(ExportError, match="make it an argument"):
        jax.export_c(lambda x: x + large)(1.0)


def test_the_host_is_one_file():
    text = standalone_host()
    assert re.findall(r'#include "(.*)"', text) == []
    assert text.count(host_source()) == 1


@pytest.mark.not_quick
def test_several_functions_share_a_program_and_a_host_also_in_cpp(tmp_path):
    """Names of one do not meet those of another, and the headers are C++ too."""
    compiler = compilers()[0]
    x = np.zeros(1 << 20, np.float32)
    functions = [jax.export_c(lambda x, k=k: jnp.tanh(x) * k, name=f"times_{k}") for k in (2, 3)]
    for exported in (function(x) for function in functions):
        exported.save(tmp_path)
    (tmp_path / "main.c").write_text("""
        #include "times_2.h"
        #include "times_3.h"
        static float x[1 << 20], a[1 << 20], b[1 << 20];
        int main(void) {
            x[1] = 0.5f;
            return times_2(x, a) || times_3(x, b) || !(a[1] > 0.92f && a[1] < 0.93f && b[1] > a[1]);
        }""")
    compile_c([compiler, *build_flags(compiler, False)[:2], "main.c", "times_2.c", "times_3.c",
               host_object(tmp_path, compiler), "-o", "both", "-lm", "-lpthread", "-ldl"], tmp_path)
    subprocess.run(["./both"], cwd=tmp_path, check=True, timeout=60)
    if shutil.which("g++"):
        subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "times_2.h"], cwd=tmp_path,
                       check=True, timeout=60)
