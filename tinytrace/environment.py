"""Values of environment variables, of the type that a setting has."""
from __future__ import annotations

import os

_TRUE, _FALSE = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0")


def env_bool(variable: str, default: bool) -> bool:
    """Read a truth value from an environment variable.

    Raises: ValueError if the variable is set to something that is no truth value.
    """
    text = os.environ.get(variable, str(default)).lower()
    if text not in _TRUE + _FALSE:
        raise ValueError(f"invalid truth value {text!r} for environment {variable!r}: use one of {_TRUE + _FALSE}")
    return text in _TRUE


def env_int(variable: str, default: int) -> int:
    """Read an integer from an environment variable; ValueError names the variable if it holds none."""
    text = os.environ.get(variable, str(default))
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"invalid integer {text!r} for environment {variable!r}") from None


def env_choice(variable: str, default: str, choices: tuple[str, ...]) -> str:
    """Read one of `choices` from an environment variable; ValueError names the variable and the choices."""
    text = os.environ.get(variable, default)
    if text not in choices:
        raise ValueError(f"invalid value {text!r} for environment {variable!r}: use one of {list(choices)}")
    return text


def env_optional(variable: str, choices: tuple[str, ...]) -> str | None:
    """Read one of `choices` from an environment variable; None when it is not set."""
    return env_choice(variable, "", ("", *choices)) or None
