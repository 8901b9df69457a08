#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen's filter for the public headers, whose comments are plain: comments.py HEADER

A comment above declarations is that of each of them up to the next comment or empty line; one behind a
declaration is its own; the first of the file is the file's. Lines with an indent of their own stay as they
are, and nothing in a comment is one of Doxygen's commands.
"""
import re
import sys
from pathlib import Path


def as_doxygen(comment: list[str]) -> list[str]:
    """Lines of a comment, without their slashes."""
    lines, verbatim = [], False
    for line in comment:
        is_table = line.startswith("  ")
        if is_table != verbatim and line:
            lines.append("\\verbatim" if is_table else "\\endverbatim")
            verbatim = is_table
        lines.append(line if verbatim else re.sub(r"([\\@<>&#%\"$])", r"\\\1", line).strip())
    return lines + ["\\endverbatim"] * verbatim


def block(indent: str, comment: list[str]) -> list[str]:
    return [f"{indent}/// {line}".rstrip() for line in as_doxygen(comment)]


def convert(lines: list[str]):
    comment: list[str] = []
    above: list[str] = []  # the comment of the declarations that follow
    is_first, is_declared, depth, is_whole = True, False, 0, True
    for line in lines:
        indent, slashes, text = re.match(r"(\s*)(// ?)?(.*)", line).groups()
        if slashes:
            comment += [] if text.startswith("SPDX") else [text]
            continue
        if is_first and comment:
            yield from ["/// \\file", *block("", comment)]
            is_first, comment = False, []
        if comment:
            above, comment, is_declared = comment, [], False
        if not text:
            above = []
            yield ""
            continue
        code, behind = line.split(" // ", 1) if " // " in line else (line, "")
        if above and is_whole and not (behind and is_declared) and not text.startswith(("}", "#")):
            yield from block(indent, above)
            is_declared = True
        if behind and code.rstrip().endswith("{"):
            yield from block(indent, [behind])
            behind = ""
        yield f"{code.rstrip()}  ///< {as_doxygen([behind])[0]}" if behind else code
        code = code.rstrip()
        depth += code.count("(") - code.count(")")
        is_whole = depth == 0 and (code.endswith((";", "}", ",", "{", ":")) or code.startswith("#"))
        if code.endswith("{"):
            above = []


if __name__ == "__main__":
    print("\n".join(convert(Path(sys.argv[1]).read_text().splitlines())))
