"""The order of the packages, lowest first: a package imports from its own rank or a lower one, never from a higher.

Every import stands at the top of its file, and no two modules import each other. `tests/test_layers.py` holds
the whole project to this list, and the README prints it.

The list is why nothing here is ever imported "just in time": each layer can be read knowing only those above it
on this page.
"""

LAYERS: list[tuple[str, str]] = [
    ("errors config call_contexts environment util records events layers csources pure tracebacks own_code _runtime "
     "_dispatch",
     "what needs nothing; _runtime, _dispatch: csrc/, or pure"),
    ("core", "the language: dtypes, avals, trees, trace, primitive, jaxpr, check, print"),
    ("primitives", "one family per file; a primitive is one room with all of its rules"),
    ("transforms", "the interpreters: staging, jvp, vmap, partial_eval, transpose"),
    ("control_flow", "primitives whose params are jaxprs: pjit, cond, while_loop, scan"),
    ("passes", "jaxpr -> jaxpr: inline, dce, cse, fold, algebra"),
    ("codegen", "jaxpr -> Kernel -> C text; opens no file, starts no process"),
    ("runtime", "C text -> Executable; the only layer that knows disk, compiler and cffi"),
    ("api", "jit, dispatch, stages, grad, vmap, show"),
    ("tinytrace lax numpy nn random scipy interpreters extend experimental example_libraries lib _src",
     "what users type, with every module at the top not named elsewhere here"),
    ("testing test_util cli inspection profiler __main__", "what users look with"),
]


def layers_text() -> str:
    """The list as the README prints it: rank, packages, purpose.

    >>> print(layers_text().splitlines()[2].strip())
    1  core                    the language: dtypes, avals, trees, trace, primitive, jaxpr, check, print
    """
    rows = []
    for rank, (names, purpose) in enumerate(LAYERS):
        if len(names) > 22:
            rows.append(f"{rank:2}  {names}")
            rows.append(f"{'':28}{purpose}")
        else:
            rows.append(f"{rank:2}  {names:24}{purpose}")
    return "\n".join(rows)
