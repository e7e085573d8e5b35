"""How many examples drawn tests try, by the Hypothesis profile: full or search, fast, quick (see conftest.py)."""

from hypothesis import settings

PROFILE = settings.get_current_profile_name()
FULL = PROFILE not in ("fast", "quick")
QUICK = PROFILE == "quick"


def how_many(full: int, fast: int = 0) -> int:
    """How many examples to draw: if nothing is said about `fast` it means the same, `quick` a third of `fast`."""
    fast = fast or full
    return full if FULL else max(3, fast // 3) if QUICK else fast


def examples(full: int, fast: int = 0) -> settings:
    """The decorator of a test that draws as many."""
    return settings(max_examples=how_many(full, fast))
