"""`print_environment_info`: what a report of a bug should say of the machine."""
from __future__ import annotations

import platform
import sys

import numpy as np

import tinytrace
from tinytrace.api.devices import devices, local_device_count, process_count
from tinytrace.runtime.compiler import find_command


def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions of tinytrace, NumPy, Python and the C compiler, and the platform; or return the text.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.print_environment_info.html.

    >>> print_environment_info(return_string=True).splitlines()[-2]
    'process_count: 1'
    """
    kinds = ", ".join(device.device_kind for device in devices())
    text = "\n".join([
        f"tinytrace: {tinytrace.__version__}",
        f"numpy:  {np.__version__}",
        f"python: {sys.version}",
        f"compiler: {' '.join(find_command())}",
        f"device info: {kinds}-{len(devices())}, {local_device_count()} local devices",
        f"process_count: {process_count()}",
        f"platform: {platform.uname()}",
    ])
    if return_string:
        return text
    print(text)
    return None
