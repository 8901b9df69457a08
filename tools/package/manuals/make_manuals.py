#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages, and completion for bash and zsh, from what the programs say of themselves.

  make_manuals.py PREFIX PROGRAM...    writes PREFIX/man/man1, PREFIX/bash-completion/completions
                                       and PREFIX/zsh/site-functions
"""
import gzip
import sys
from pathlib import Path

from completions import bash, zsh
from man_pages import man_page
from manual_text import manuals_of, run


def main() -> None:
    to, programs = Path(sys.argv[1]), [Path(argument).resolve() for argument in sys.argv[2:]]
    man, for_bash, for_zsh = to / "man/man1", to / "bash-completion/completions", to / "zsh/site-functions"
    for directory in (man, for_bash, for_zsh):
        directory.mkdir(parents=True, exist_ok=True)
    for program in programs:
        version = run(program, "--version").split()[1]
        for manual in manuals_of(program):
            page = man / f"{manual.name.replace(' ', '-')}.1.gz"
            page.write_bytes(gzip.compress(man_page(manual, version).encode(), mtime=0))
        (for_bash / program.name).write_text(bash(program))
        (for_zsh / f"_{program.name}").write_text(zsh(program))


if __name__ == "__main__":
    main()
