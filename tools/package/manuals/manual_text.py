# SPDX-License-Identifier: Apache-2.0
"""The parts of a program's manual, which is what it prints for --help."""
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# A program and its commands, which have manuals and options of their own.
COMMANDS = {"bert-infer": ["info", "merge"]}
OPTION = re.compile(r"^ {2,6}(-\w, )?(--[\w-]+|--)\b")


@dataclass
class Option:
    """An entry such as '  -o, --output FILE   where answers go', with the lines below it."""
    spelling: str
    lines: list[str] = field(default_factory=list)  # without the column that they begin at

    def summary(self) -> str:
        """Its first clause, or nothing if it is a table."""
        text = " ".join(self.lines)
        return "" if "  " in text else re.split(r"[;.](?: |$)| \(default", text, maxsplit=1)[0]


@dataclass
class Section:
    title: str  # "" for what comes first
    blocks: list = field(default_factory=list)  # str: a paragraph; list[str]: lines as they are; Option


@dataclass
class Manual:
    name: str
    title: str
    synopsis: list[tuple[str, str]]  # the command, and what it does
    sections: list[Section]

    def options(self) -> dict[str, Option]:
        """By each of their names."""
        return {name: block for section in self.sections for block in section.blocks
                if isinstance(block, Option) for name in re.findall(r"(?<!\S)-[\w-]+", block.spelling)}


def read_options(lines: list[str]) -> list:
    """Options, whose descriptions all begin at the column that most do, and other indented lines."""
    blocks: list = []
    for line in lines:
        if OPTION.match(line):
            spelling, *rest = re.split(r" {2,}", line.strip(), maxsplit=1)
            blocks.append(Option(spelling, rest))
            column = len(line) - len(rest[0]) if rest else 0
        elif blocks and isinstance(blocks[-1], Option) and line.startswith(" " * 10):
            column = column or len(line) - len(line.lstrip())
            blocks[-1].lines.append(line[column:] if line[:column].isspace() else line.strip())
        elif blocks and isinstance(blocks[-1], list):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks


def read_section(title: str, lines: list[str]) -> list:
    blocks: list = []
    while lines:
        indented = lines[0].startswith(" ")
        end = next((i for i, line in enumerate(lines) if line.startswith(" ") != indented), len(lines))
        blocks += read_options(lines[:end]) if indented else [" ".join(lines[:end])]
        del lines[:end]
    return blocks


def read_manual(text: str) -> Manual:
    text = text.replace("\nExit status: ", "\n\nExit status: ")
    paragraphs = [paragraph.splitlines() for paragraph in re.split(r"\n{2,}", text.rstrip())]
    name, title = paragraphs.pop(0)[0].split(": ", 1)
    synopsis = [tuple((re.split(r" {2,}", line.strip(), maxsplit=1) + [""])[:2])
                for line in paragraphs.pop(0)]
    sections = [Section("")]
    for lines in paragraphs:
        is_heading = len(lines) > 1 and re.fullmatch(r"[A-Z][\w ]{3,30}", lines[0]) and lines[1].startswith(" ")
        if lines[0].startswith("Exit status: "):
            lines[0] = lines[0].removeprefix("Exit status: ")
            sections.append(Section("Exit status"))
        elif is_heading:
            sections.append(Section(lines.pop(0)))
        elif sections[-1].title and not lines[0].startswith(" ") and sections[-1].title != "Notes":
            sections.append(Section("Notes"))
        elif not sections[-1].title and OPTION.match(lines[0]):
            sections.append(Section("Options"))
        sections[-1].blocks += read_section(sections[-1].title, lines)
    return Manual(name, title, synopsis, [section for section in sections if section.blocks])


def run(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def commands_of(program: Path) -> list[list[str]]:
    """The arguments that each of its manuals is asked for with."""
    return [[], *([command] for command in COMMANDS.get(program.name, []))]


def manuals_of(program: Path) -> list[Manual]:
    return [read_manual(run(program, *command, "--help")) for command in commands_of(program)]
