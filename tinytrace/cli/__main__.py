"""The command line: `tinytrace COMMAND`, which is `python -m tinytrace COMMAND`."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import traceback
from collections.abc import Callable, Sequence

from tinytrace.cli import completion, doctor, explore, functions, run, store
from tinytrace.cli.answers import FINE, INTERRUPTED, NOT_FINE, WRONG_USE, Answer, WrongUse, note
from tinytrace.cli.demo import run_demo
from tinytrace.cli.spine import run_spine

_EXIT_CODES = """\
exit codes: 0 all is well; 1 the answer is no: something is missing, damaged or raised an error; 2 the command line is
wrong; 130 interrupted. `run` ends with the script's own. Answers go to the standard output, notes to stderr.
NO_COLOR=1 turns colours off.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that is named, and return its exit code."""
    try:
        options = parser().parse_args(argv)
        answer = options.run(options)
        if text := json.dumps(answer.value, indent=1) if options.json else answer.text:
            print(text)
        sys.stdout.flush()
        return int(answer.status)
    except WrongUse as error:
        note(str(error))
        return WRONG_USE
    except SystemExit as ending:  # of argparse, and of commands that find nothing
        if isinstance(ending.code, str):
            note(ending.code)
            return WRONG_USE
        return int(ending.code or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads on, as behind `| head`
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115  (the interpreter flushes it at the end)
        return FINE
    except Exception:  # of the user's function, mostly
        traceback.print_exc()
        return NOT_FINE


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line; the shells' completion is made of it too."""
    top = argparse.ArgumentParser(prog="tinytrace", description="tinytrace on the command line", epilog=_EXIT_CODES,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(metavar="COMMAND", required=True, dest="command")

    def add(name: str, text: str, answer: Callable[[argparse.Namespace], Answer]) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--json", action="store_true", help="answer in JSON")
        command.set_defaults(run=answer)
        return command

    add("doctor", "what this machine has, what is missing, and whether programs run right", doctor.run)
    add("demo", "run the programs of the introductory texts: jaxpr, C, output, hit or miss", _printed(run_demo))
    run.add_arguments(add("run", "run a script, and report what it compiled", run.run))
    for name, text in functions.HELP.items():
        functions.add_arguments(add(name, text, functions.run), name)
    explore.add_arguments(add("explore", "write the page of a function, from Python to assembly", _explore))
    store.add_arguments(add("cache", "look at the compiled programs on disk, check and move them", store.run))
    add("spine", "the files to read first, in order, with their lengths", _printed(run_spine))
    shells = add("completion", "print a script that completes commands in your shell",
                 lambda options: completion.script(top, options.shell))
    shells.add_argument("shell", choices=completion.SHELLS)
    return top


def _printed(function: Callable[[], None]) -> Callable[[argparse.Namespace], Answer]:
    """Return a command of a function that prints, which is its answer."""

    def answer(options: argparse.Namespace) -> Answer:
        if not options.json:
            function()
            return Answer(None, "")
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            function()
        return Answer({"text": text.getvalue()}, text.getvalue())

    return answer


def _explore(options: argparse.Namespace) -> Answer:
    return _printed(lambda: explore.run_explore(options))(options)


if __name__ == "__main__":
    sys.exit(main())
