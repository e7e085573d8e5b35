"""`tinytrace completion bash | zsh | fish`: a script that teaches a shell the commands and their options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tinytrace.cli.answers import Answer

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_tinytrace() {{
    local path="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case " {commands} " in *" $word "*) path="$path $word";; esac
    done
    case "$path" in
{cases}
    esac
}}
complete -o default -F _tinytrace tinytrace
"""


def script(parser: argparse.ArgumentParser, shell: str) -> Answer:
    """Return the script for a shell; it knows what `parser` knows."""
    words = dict(_words(parser, ""))
    if shell == "fish":
        lines = [f"complete -c tinytrace -n '{_fish_condition(path)}' -a '{' '.join(found)}'"
                 for path, found in words.items()]
        text = "\n".join(lines)
    else:
        commands = sorted({word for path in words for word in path.split()} | {w for w in words[""] if w[0] != "-"})
        cases = "\n".join(f'    "{path}") COMPREPLY=($(compgen -W "{" ".join(found)}" -- '
                          f'"${{COMP_WORDS[COMP_CWORD]}}"));;' for path, found in words.items())
        text = _BASH.format(commands=" ".join(commands), cases=cases).rstrip("\n")
        text = f"autoload -U +X bashcompinit && bashcompinit\n{text}" if shell == "zsh" else text
    return Answer({"shell": shell, "script": text}, text)


def _words(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what may follow each command: `("", [commands])`, `(" cache", [its commands])`, ..."""
    options = [text for action in parser._actions for text in action.option_strings if text.startswith("--")]
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    yield path, [*(name for action in inner for name in action.choices), *options]
    for action in inner:
        for name, command in action.choices.items():
            yield from _words(command, f"{path} {name}")


def _fish_condition(path: str) -> str:
    names = path.split()
    return " && ".join(f"__fish_seen_subcommand_from {name}" for name in names) or "__fish_use_subcommand"
