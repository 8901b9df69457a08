# SPDX-License-Identifier: Apache-2.0
"""Completion for bash and zsh, from the options that the program says it has."""
import re
from pathlib import Path

from manual_text import Manual, commands_of, read_manual, run

# Models in Hugging Face's cache, which have names besides directories'.
CACHED = '"${HF_HUB_CACHE:-${HF_HOME:-$HOME/.cache/huggingface}/hub}"/models--*'


class Command:
    """A program's own options, or those of one of its commands."""

    def __init__(self, program: Path, command: list[str]):
        self.name = command[0] if command else ""
        self.manual: Manual = read_manual(run(program, *command, "--help"))
        listed = [line.split("\t") for line in run(program, *command, "--list-options").splitlines()]
        # ["-m", "--model"] and what its value is: "" for a flag, "{a,b}", "FILE", "DIR" ...
        self.options = [(names.split(","), value) for names, value in listed if names.startswith("-")]
        self.takes_files = any(value == "FILE" for names, value in listed if not names.startswith("-"))

    def summary(self, names: list[str]) -> str:
        known = self.manual.options()
        return next((known[name].summary() for name in names if name in known), "")


def choices(value: str) -> list[str]:
    return value.strip("{}").split(",") if value.startswith("{") else []


def bash_value(names: list[str], value: str) -> str:
    if "--model" in names:
        return "_bert_infer_models"
    if value in ("FILE", "DIR"):
        return f'compopt -o filenames; COMPREPLY=($(compgen -{value[0].lower()} -- "$word"))'
    return f'COMPREPLY=($(compgen -W "{" ".join(choices(value))}" -- "$word"))'


def bash_command(command: Command, indent: str) -> str:
    with_value = [(names, value) for names, value in command.options if value]
    known = [(names, value) for names, value in with_value if value in ("FILE", "DIR") or choices(value)]
    others = [name for option in with_value if option not in known for name in option[0]]
    lines = ["case $option in",
             *(f"  {'|'.join(names)}) {bash_value(names, value)}; return ;;" for names, value in known),
             f"  {'|'.join(others)}) return ;;" if others else "",
             "esac",
             "if [[ $word == -* ]]; then",
             f'  COMPREPLY=($(compgen -W "{" ".join(name for names, _ in command.options for name in names)}"'
             ' -- "$word"))',
             "  return",
             "fi",
             'compopt -o filenames; COMPREPLY=($(compgen -f -- "$word"))' if command.takes_files else ""]
    return "".join(f"{indent}{line}\n" for line in lines if line)


def bash(program: Path) -> str:
    main, *others = [Command(program, command) for command in commands_of(program)]
    function = "_" + re.sub(r"\W", "_", program.name)
    text = f"""# SPDX-License-Identifier: Apache-2.0
# Completion of {program.name} for bash, made from its options.
_bert_infer_models() {{
  local name names=""
  for name in {CACHED}; do
    [[ -d $name ]] || continue
    name=${{name##*/models--}}
    names+=" ${{name/--//}}"
  done
  compopt -o filenames
  COMPREPLY=($(compgen -d -- "$word") $(compgen -W "$names" -- "$word"))
}}

{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}}
  local option=${{COMP_WORDS[COMP_CWORD - 1]}}
  # --option=value is three words.
  if [[ $word == "=" ]]; then word=""; fi
  if [[ $option == "=" ]]; then option=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  COMPREPLY=()
  case ${{COMP_WORDS[1]}} in
"""
    for command in others:
        text += f"  {command.name})\n    if ((COMP_CWORD > 1)); then\n" + bash_command(command, " " * 6) + (
            "      return\n    fi ;;\n")
    text += "  esac\n" + bash_command(main, "  ")
    if others:
        words = " ".join(command.name for command in others)
        text += f'  if ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W "{words}" -- "$word")); fi\n'
    return text + f"}}\ncomplete -F {function} {program.name}\n"


def zsh_command(command: Command) -> str:
    """Arguments of _arguments."""
    lines = []
    for names, value in command.options:
        summary = re.sub(r"[^\w ,.()/-]", "", command.summary(names).replace(":", " -"))
        words = " ".join(choices(value))
        action = (f":value:({words})" if words else ":model:_bert_infer_models" if "--model" in names else
                  ":file:_files" if value == "FILE" else ":directory:_files -/" if value == "DIR" else
                  ":value:" if value else "")
        spelled = ([f"({' '.join(names)})"] if len(names) > 1 else [""])
        for name in names:
            sign = "=" if value and name.startswith("--") else ""
            lines.append(f"'{spelled[0]}{name}{sign}{summary and f'[{summary}]'}{action}'")
    # Nothing is offered for texts.
    lines.append("'*:file:_files'" if command.takes_files else "'*:text:{false}'")
    return " \\\n    ".join(["_arguments", *lines])


def zsh(program: Path) -> str:
    main, *others = [Command(program, command) for command in commands_of(program)]
    function = "_" + re.sub(r"\W", "_", program.name)
    text = f"""#compdef {program.name}
# SPDX-License-Identifier: Apache-2.0
# Completion of {program.name} for zsh, made from its options.
_bert_infer_models() {{
  local -a names
  names=({CACHED}(N:t))
  names=("${{(@)names#models--}}")
  names=("${{(@)names/--//}}")
  compadd -a names
  _files -/
}}

"""
    if others:
        text += f"""if (( CURRENT > 2 )); then
  case $words[2] in
"""
        for command in others:
            text += f"  {command.name})\n    shift words; (( CURRENT-- ))\n    {zsh_command(command)}\n    return ;;\n"
        words = " ".join(f"'{command.name}:{command.manual.title}'" for command in others)
        text += f"""  esac
elif [[ $words[2] != -* ]]; then
  local -a commands
  commands=({words})
  _describe command commands && return
fi
"""
    return text + zsh_command(main) + "\n"
