"""The predictions of chapter 4: the four introductory texts, live."""

from course.chapters.ch04_what_is_in_a_cache_key.exercises import SETUP
from course.exercise import Prediction, text

PREDICTIONS = (
    Prediction(
        id="4.p1",
        question="The first text: `test` returns 1 for more than four elements, else -1. After each of five lines, how many programs are "
        "in its cache? A list of five numbers.",
        setup=SETUP,
        program=text("""
            @jax.jit
            def test(x):
                if x.shape[0] > 4:
                    return 1
                else:
                    return -1


            sizes = [test._cache_size()]
            for n in (8, 8, 3, 8):
                test(jnp.ones(n))
                sizes.append(test._cache_size())
            sizes
        """),
        because="One program per shape, and the old one is still there when its shape comes back.",
    ),
    Prediction(
        id="4.p2",
        question="`f(1.0)`, then `f(1)`: a miss. Why?",
        setup=SETUP,
        program=text("""
            def keys(*calls):
                f, _ = counted(lambda x: x * 2)
                for x in calls:
                    f(x)
                return f._cache_size()
        """),
        because="The dtype decides the machine code. The value does not, and that both are Python numbers does not help.",
        reasons=(
            ("The value changed.", "keys(1.0, 2.0) == 2"),
            ("A float became an integer: another dtype.", "keys(1.0, 1) == 2 and keys(1.0, 2.0) == 1 and keys(1, 2) == 1"),
            ("Every call with a Python number is a miss.", "keys(1, 1) == 2"),
        ),
    ),
    Prediction(
        id="4.p3",
        question="`f(1.0)` and `f(jnp.float32(1.0))` are both `f32[]`, and need two programs. Why?",
        setup=SETUP,
        program=text("""
            def result_type(x):
                return jax.make_jaxpr(lambda x: x + jnp.ones((), "float16"))(x).out_avals[0].str_short()
        """),
        because="A Python number is weak: it takes on the dtype of what it meets. So the two programs may compute different types.",
        reasons=(
            ("Arrays live elsewhere in memory than numbers.", "result_type(1.0) == result_type(jnp.float32(1.0))"),
            (
                "One type is weak and the other is not, which can change the types of results.",
                "result_type(1.0) == 'f16[]' and result_type(jnp.float32(1.0)) == 'f32[]'",
            ),
            ("Their dtypes differ.", "leaf_type(1.0).rstrip('~') != leaf_type(jnp.float32(1.0))"),
        ),
    ),
    Prediction(
        id="4.p4",
        question="The second text: a static flag that changes with each of 100 calls. How many programs?",
        setup=SETUP,
        program=text("""
            def f(x, flag):
                return jnp.sin(x) if flag else jnp.cos(x)


            f_jit = jax.jit(f, static_argnames=["flag"])
            for i in range(100):
                f_jit(jnp.arange(10), flag=i % 2 == 0)
            f_jit._cache_size()
        """),
        because="One for each value of the flag. Nothing is thrown away when the flag changes back.",
    ),
    Prediction(
        id="4.p5",
        question="`rate` changes from 2.0 to 5.0 and `f(1.0)` is still 2.0. Why?",
        setup=SETUP,
        program=text("""
            rate = 2.0
            f, traces = counted(lambda x: rate * x)
            first = float(f(1.0))
            rate = 5.0
            second = float(f(1.0))
        """),
        because="Whatever a function reads besides its arguments is not in the key. Pass it as an argument, or make it static.",
        reasons=(
            ("The result of the first call was stored.", "float(f(3.0)) == first"),
            (
                "A global is not in the key: it is a hit, and the old number is in the program.",
                "second == 2.0 and len(traces) == 1 and float(f(jnp.float32(1.0))) == 5.0",
            ),
            ("Globals are copied when `jit` is called.", "rate == 2.0"),
        ),
    ),
    Prediction(
        id="4.p6",
        question="The fourth text: new `Params` with other weights and the same size. The second call is a hit. Why?",
        setup=SETUP,
        program=text("""
            f, traces = counted(lambda params, x: params.weights * x)
            f(Params(jnp.array([1.0, 2.0]), 2), 3.0)


            def misses(params):
                before = len(traces)
                f(params, 3.0)
                return len(traces) > before
        """),
        because="Weights are leaves: their type is in the key. The size is part of the structure: its value is.",
        reasons=(
            ("Objects of one class always share a program.", "not misses(Params(jnp.array([3.0, 4.0]), 5))"),
            (
                "The weights are leaves, of which only the type is in the key, and it is the same.",
                "not misses(Params(jnp.array([3.0, 4.0]), 2)) and misses(Params(jnp.array([3.0, 4.0, 5.0]), 2))",
            ),
            ("The weights are equal enough.", "misses(Params(jnp.array([300.0, -4.0]), 2))"),
        ),
    ),
    Prediction(
        id="4.p7",
        question="The third text: `jit` of a fresh lambda in each of 20 rounds. How often is the body traced?",
        setup=SETUP,
        program=text("""
            traces = []


            def body(i):
                traces.append(1)
                return i + 1


            i = 0
            for _ in range(20):
                i = jax.jit(lambda x: body(x))(i)
            len(traces)
        """),
        because="A function is found by identity, and each lambda is another one. With `jax.jit(body)` in the loop it would be 1.",
    ),
    Prediction(
        id="4.p8",
        question="They were traced 20 times. How many different C texts came out, so how often was the compiler needed at most?",
        setup=SETUP,
        program=text("""
            len({jax.jit(lambda x: x + 1).lower(0).as_text() for _ in range(20)})
        """),
        because="The text does not know which lambda it came from, and the text is the key of the second cache. JAX 0.4.35 compiles 20 times.",
    ),
)
