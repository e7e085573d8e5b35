"""The command line: `python -m tinytrace.cli COMMAND`."""

from __future__ import annotations

import argparse
import sys

from tinytrace.cli import explore
from tinytrace.cli.demo import run_demo
from tinytrace.cli.spine import run_spine

COMMANDS = {
    "demo": (run_demo, "run the programs of the introductory texts: jaxpr, C, output, hit or miss"),
    "spine": (run_spine, "the files to read first, in order, with their lengths"),
}


def main(argv: list[str]) -> None:
    """Runs the command that is named."""
    parser = argparse.ArgumentParser(prog="python -m tinytrace.cli", description="tinytrace on the command line")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name, (_, help_text) in COMMANDS.items():
        commands.add_parser(name, help=help_text)
    explore.add_arguments(commands.add_parser("explore", help="write the page of a function, from Python to assembly"))
    options = parser.parse_args(argv)
    if options.command == "explore":
        explore.run_explore(options)
    else:
        run, _ = COMMANDS[options.command]
        run()


if __name__ == "__main__":
    main(sys.argv[1:])
