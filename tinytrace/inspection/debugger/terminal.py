"""The debugger in a terminal: one command for each move of a `Session`.

    tinytrace.debug(f)(x)        `h` lists the commands
"""
from __future__ import annotations

import cmd
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.control_flow.bodies import stored
from tinytrace.inspection.debugger.session import Session, debugger
from tinytrace.inspection.recording import summary


def debug(fun: Callable[..., Any], limit: int = 100_000) -> Callable[..., Any]:
    """Return a function that runs `fun` in the debugger.

    In a terminal the debugger asks for commands, and the flat results are returned at its end. In a notebook the
    `Session` is returned, which shows itself in the cell.

    Args: limit: how many equations are recorded at most, those of each iteration of a loop counted.
    """
    def start(*args: Any, **kwargs: Any) -> Session | list[Any]:
        session = debugger(fun, limit)(*args, **kwargs)
        if in_notebook():
            return session
        Terminal(session).cmdloop()
        return session.results
    return start


def in_notebook() -> bool:
    """Say whether the user types into cells that show HTML: IPython runs in a kernel."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class Terminal(cmd.Cmd):
    """The commands of the debugger in a terminal; each is one method of `Session`."""

    prompt = "(jaxpr) "

    def __init__(self, session: Session, **streams: Any) -> None:
        super().__init__(**streams)
        self.session = session
        self.intro = f"{len(session.recording.events)} equations; h for help\n{session}"

    def do_s(self, _: str) -> None:
        """s: step to the next equation, into bodies"""
        self.show(self.session.step())

    def do_n(self, _: str) -> None:
        """n: next equation, over bodies"""
        self.show(self.session.next())

    def do_o(self, _: str) -> None:
        """o: out of this body"""
        self.show(self.session.out())

    def do_b(self, count: str) -> None:
        """b [COUNT]: back by one equation, or by COUNT"""
        if count and not count.isdigit():
            self.say("back by how many? A number, or nothing for one")
        else:
            self.show(self.session.back(int(count or 1)))

    def do_u(self, what: str) -> None:
        """u LINE | PRIMITIVE | nan: run until a line, a primitive, or a NaN or infinity made of finite numbers"""
        if not what:
            self.say("until what? A line number, a primitive, or nan")
        elif what == "nan":
            self.show(self.session.until(nan=True))
        else:
            self.show(self.session.until(line=int(what)) if what.isdigit() else self.session.until(primitive=what))

    def do_c(self, _: str) -> None:
        """c: continue to the end"""
        self.show(self.session.to(len(self.session.recording.events)))

    def do_p(self, name: str) -> None:
        """p [NAME]: print a variable, or all of them"""
        values = self.session.values
        names = name.split() or list(values)
        for key in names:
            self.say(f"{key} = {values[key]!r}" if name and key in values else f"{key} = {summary(values[key])}"
                     if key in values else f"no variable {key!r} has a value here; there are: {', '.join(values)}")

    def do_set(self, text: str) -> None:
        """set NAME = NUMBER: give a variable another value, and run what follows again"""
        name, found, number = text.partition("=")
        try:
            if not found:
                raise ValueError("set NAME = NUMBER")
            old = self.session[name.strip()]
            self.session[name.strip()] = np.full(np.shape(old), float(number), stored(old).dtype)
        except (KeyError, ValueError, TypeError) as error:
            self.say(str(error.args[0]))
        else:
            self.show(self.session)

    def do_w(self, _: str) -> None:
        """w: where we are, and the equations around"""
        self.show(self.session)

    def do_h(self, _: str) -> None:
        """h: this list"""
        commands = sorted(name for name in dir(self) if name.startswith("do_") and name != "do_help")
        self.say("\n".join(str(getattr(self, name).__doc__) for name in commands))

    def do_q(self, _: str) -> bool:
        """q: quit"""
        return True

    do_EOF = do_q  # noqa: N815  (the name that cmd wants)

    def emptyline(self) -> bool:
        return bool(self.onecmd(self.lastcmd)) if self.lastcmd else False

    def show(self, session: Session) -> None:
        self.say(str(session))

    def say(self, text: str) -> None:
        self.stdout.write(text + "\n")
