"""How many examples drawn tests try, by the Hypothesis profile: search, full, fast, quick (see conftest.py).

What is drawn is the same in every run but one with `search`, which draws anew, and so tries all that a test asks for:
the second half of the same examples would find what the first one has let through in one run, and never again.
"""

from hypothesis import settings

PROFILE = settings.get_current_profile_name()
FULL = PROFILE not in ("fast", "quick")
QUICK = PROFILE == "quick"


def how_many(full: int, fast: int = 0) -> int:
    """How many examples to draw with `search`; with `full` half as many, but no fewer than with `fast`.

    If nothing is said about `fast` it means the same; `quick` is a third of `fast`.
    """
    fast = fast or full
    return {"search": full, "fast": fast, "quick": max(3, fast // 3)}.get(PROFILE, max(fast, full // 2))


def examples(full: int, fast: int = 0) -> settings:
    """The decorator of a test that draws as many."""
    return settings(max_examples=how_many(full, fast))
