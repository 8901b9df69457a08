#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The API reference is made without a warning, and says something of every type and function of the public
headers. Usage: doxygen_test.py BUILD_DIR"""
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def is_described(node: ElementTree.Element) -> bool:
    return any("".join(part.itertext()).strip() for part in node if part.tag.endswith("description"))


def undescribed(xml: Path) -> tuple[list[str], int]:
    """The types and functions without a comment, and how many there are in all."""
    missing, count = [], 0
    for file in sorted(xml.glob("*.xml")):
        for compound in ElementTree.parse(file).getroot().iter("compounddef"):
            name = compound.findtext("compoundname")
            nodes = [(compound, name)] if compound.get("kind") in ("class", "struct") else []
            for member in compound.iter("memberdef"):
                own = member.findtext("name")
                # Constructors, destructors and operators are what they are everywhere.
                is_special = own in (name.split("::")[-1], "operator=", "operator==") or own.startswith("~")
                if (member.get("kind") in ("function", "enum", "typedef") and not is_special
                        and member.get("prot") != "private"):
                    nodes.append((member, f"{name}::{own}{member.findtext('argsstring') or ''}"))
            count += len(nodes)
            missing += [named for node, named in nodes if not is_described(node)]
    return missing, count


def main() -> None:
    build = Path(sys.argv[1])
    if not shutil.which("doxygen") or not (build / "Doxyfile").is_file():
        required = os.environ.get("BERT_INFER_REQUIRE_PACKAGING") == "1"
        print("skipped: no doxygen when this was configured, which tools/setup --packaging installs")
        sys.exit(1 if required else 77)
    with tempfile.TemporaryDirectory() as scratch:
        text = (build / "Doxyfile").read_text() + f'OUTPUT_DIRECTORY = "{scratch}"\n'
        done = subprocess.run(["doxygen", "-"], input=text, capture_output=True, text=True)
        warnings = done.stderr.strip()
        if done.returncode or warnings:
            sys.exit(warnings or f"doxygen ended with {done.returncode}")
        missing, count = undescribed(Path(scratch, "xml"))
    assert count > 100, count
    if missing:
        sys.exit("without a comment: " + ", ".join(missing))
    print(f"{count} types and functions, no warnings")


if __name__ == "__main__":
    main()
