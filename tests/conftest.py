"""What holds for all tests: a cache of their own, no settings from outside, and how many random programs are tried."""

import os
import pathlib

from hypothesis import HealthCheck, settings

ROOT = pathlib.Path(__file__).parent.parent

# Before tinytrace is imported: compiled programs of earlier runs are found again (the store is content-addressed, so
# nothing stale can be), and the user's own cache is left alone.
for name in [name for name in os.environ if name.startswith(("TINYTRACE_", "JAX_"))]:
    if name != "TINYTRACE_CACHE_DIR":
        del os.environ[name]
os.environ.setdefault("TINYTRACE_CACHE_DIR", str(ROOT / ".cache" / "tests"))

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("full", max_examples=100, deadline=None, suppress_health_check=SLOW_IS_FINE)
settings.register_profile("fast", max_examples=20, deadline=None, suppress_health_check=SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "full"))
