# SPDX-License-Identifier: Apache-2.0
"""Manuals as man pages."""
import re

from manual_text import Manual, Option

SEE_ALSO = ["bert-infer", "bert-infer-info", "bert-infer-merge", "bert-serve", "bert-bench", "bert-regress",
            "bert-convert"]


def escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("~", "\\(ti")
    return re.sub(r"^\.", r"\\&.", text.replace("^", "\\(ha").replace("`", "\\(ga"), flags=re.MULTILINE)


def as_it_is(lines: list[str]) -> str:
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return ".nf\n" + "".join(escaped(line[indent:]) + "\n" for line in lines) + ".fi\n"


def option(block: Option) -> str:
    # A table within a description keeps its columns.
    is_table = any(re.search(r"^ | {2,}", line) for line in block.lines)
    text = as_it_is(block.lines) if is_table else escaped(" ".join(block.lines)) + "\n"
    return f".TP\n.B {escaped(block.spelling)}\n{text}"


def man_page(manual: Manual, version: str) -> str:
    name = manual.name.replace(" ", "-")
    page = (f'.TH {name.upper()} 1 "" "bert-infer {version}" "User Commands"\n'
            f".SH NAME\n{escaped(name)} \\- {escaped(manual.title)}\n.SH SYNOPSIS\n")
    for command, meaning in manual.synopsis:
        page += f".TP\n.B {escaped(command)}\n{escaped(meaning)}\n" if meaning else (
            f".PP\n.B {escaped(command)}\n")
    for section in manual.sections:
        page += f".SH {escaped((section.title or 'Description').upper())}\n"
        for block in section.blocks:
            if isinstance(block, Option):
                page += option(block)
            elif isinstance(block, str):
                page += f".PP\n{escaped(block)}\n"
            else:
                page += ".PP\n" + as_it_is(block)
    others = [other for other in SEE_ALSO if other != name]
    return page + ".SH SEE ALSO\n" + ",\n".join(f".BR {escaped(other)} (1)" for other in others) + "\n"
