"""`jax.version`: the version of tinytrace. Where `import jax` means tinytrace, `jax.version` is that of JAX, 0.4.35."""
from tinytrace import __version__ as __version__
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
__version_info__ = tuple(int(part) for part in __version__.split(".")[:3])
