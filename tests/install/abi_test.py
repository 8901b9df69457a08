#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What programs that are linked with the library rely on, compared with abi.txt: the SONAME, the
exported symbols, and the layouts of the public headers' types, as libabigail's abidw reads them.

  abi_test.py LIBRARY CXX_COMPILER           compares, and that only the API's symbols are exported
  abi_test.py LIBRARY CXX_COMPILER --write   records the interface as it is now

Recording what was added is enough. After a release, what was removed or changed takes another SONAME.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).with_name("abi.txt")
C_HEADERS = ["models/c_api/bert_infer_c.h", "models/c_api/bert_queue_c.h"]
HEADERS = ["models/bert_infer.h", "models/bert_queue.h", "models/tasks/ranking/bert_ranking.h",
           "tokenizer/bert_encoding.h", *C_HEADERS]
# Names as all compilers and demanglers spell them, and as people do.
SHORT = [(r"\bstd::|__cxx11::|\[abi:cxx11\]|, 18446744073709551615ul", ""), (r" (?=[>(])", ""),
         (r"\blong int\b", "long"), (r"\b(\d+)L\b", r"\1"),
         (r"basic_string<char, char_traits<char>, allocator<char>>", "string"),
         (r"vector<([^<>]*(?:<[^<>]*>)?[^<>]*?), allocator<\1>>", r"vector<\1>")]


def short(name: str) -> str:
    for pattern, text in SHORT * 2:  # twice, for vectors of vectors
        name = re.sub(pattern, text, name)
    return name


def exported(library: str) -> list[str]:
    """The defined symbols, but for the instances of the standard library's templates."""
    listed = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True,
                            check=True).stdout
    names = {line.split(" ", 2)[2] for line in listed.splitlines()}
    standard = re.compile(r"^(?:(?:vtable|typeinfo|typeinfo name|guard variable) for )?"
                          r"(?:[\w:<>*& ]+ )?(?:std|__gnu_cxx)::")
    return sorted(short(name) for name in names if not standard.match(name))


def prototypes() -> dict[str, str]:
    """The C functions by name, as they are declared."""
    text = "".join((ROOT / header).read_text() for header in C_HEADERS)
    declared = [" ".join(found.split()) for found in re.findall(r"^BERT_INFER_API ([^;]*);", text, re.M)]
    return {re.search(r"(\w+)\(", line)[1]: line for line in declared}


def check_exports(symbols: list[str]) -> None:
    """They are the C functions and what belongs to the C++ headers' classes and functions."""
    text = "".join((ROOT / header).read_text() for header in HEADERS if header not in C_HEADERS)
    classes = set(re.findall(r"class BERT_INFER_API (\w+)", text))
    functions = set(re.findall(r"^BERT_INFER_API [^;]*?(\w+)\(", text, re.M | re.S))
    known = re.compile(rf"^(?:(?:vtable|typeinfo|typeinfo name) for )?bert::(?:(?:{'|'.join(classes)})(?:::|$)|"
                       rf"(?:{'|'.join(functions)})\()")
    foreign = [name for name in symbols if name not in prototypes() and not known.match(name)]
    assert not foreign, f"exported, but in no public header: {foreign}"
    missing = set(prototypes()) - set(symbols)
    assert not missing, f"declared in {C_HEADERS}, but not exported: {missing}"
    assert len(functions) > 5 and len(classes) > 3, (functions, classes)


def public_types() -> list[str]:
    types = []
    for header in HEADERS:
        pattern = (r"^typedef (?:struct|enum) (\w+) \{" if header in C_HEADERS else
                   r"^(?:struct|class|enum class) (?:BERT_INFER_API )?(\w+)\b[^;]*?\{")
        found = re.findall(pattern, (ROOT / header).read_text(), re.M)
        types += found if header in C_HEADERS else [f"bert::{name}" for name in found]
    return types


def describe(compiler: str, scratch: Path) -> ElementTree.Element:
    """abidw's description of a library whose only function takes every public type."""
    source, library = scratch / "public.cc", scratch / "public.so"
    source.write_text("".join(f'#include "{ROOT / header}"\n' for header in HEADERS) +
                      f"void takes({', '.join(name + '&' for name in public_types())}) {{}}\n")
    is_clang = "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    # Otherwise, classes with virtual functions are described only where these are.
    whole = "-fstandalone-debug" if is_clang else "-femit-class-debug-always"
    subprocess.run([compiler, "-std=c++20", "-g", "-gdwarf-4", whole, "-shared", "-fPIC",
                    f"-I{ROOT}/tokenizer", f"-I{ROOT}/models", source, "-o", library], check=True)
    subprocess.run(["abidw", "--no-show-locs", library, "--out-file", scratch / "abi.xml"], check=True)
    return ElementTree.parse(scratch / "abi.xml").getroot()


class Layouts:
    """The lines that describe the public types."""

    def __init__(self, root: ElementTree.Element):
        self.by_id = {node.get("id"): node for node in root.iter() if node.get("id")}
        self.scopes: dict[str, str] = {}
        self.lines: dict[str, list[str]] = {}
        self.walk(root, "")

    def walk(self, node: ElementTree.Element, scope: str) -> None:
        for child in node:
            name = child.get("name", "")
            inner = f"{scope}::{name}" if scope and name else name or scope
            if child.tag in ("class-decl", "enum-decl"):
                self.scopes[child.get("id")] = inner
            self.walk(child, inner if child.tag in ("namespace-decl", "class-decl") else scope)
        for child in node:
            inner = self.scopes.get(child.get("id"), "")
            if re.match(r"bert(::|_)", inner) and child.get("is-declaration-only") != "yes":
                if child.tag == "enum-decl":
                    self.lines[inner] = [f"enum {inner}: " + ", ".join(
                        f"{value.get('name')} = {value.get('value')}" for value in child.iter("enumerator"))]
                elif child.tag == "class-decl":
                    self.lines[inner] = [f"struct {inner}: {int(child.get('size-in-bits', 0)) // 8} bytes",
                                         *self.members(child)]

    def members(self, node: ElementTree.Element):
        for base in node.findall("base-class"):
            yield f"  {int(base.get('layout-offset-in-bits')) // 8} {self.name(base.get('type-id'))}"
        for member in node.findall("data-member"):
            variable = member.find("var-decl")
            if member.get("static") != "yes":
                yield (f"  {int(member.get('layout-offset-in-bits')) // 8} "
                       f"{self.name(variable.get('type-id'))} {variable.get('name')}")

    def name(self, type_id: str) -> str:
        node = self.by_id[type_id]
        if node.tag in ("pointer-type-def", "reference-type-def"):
            return self.name(node.get("type-id")) + ("*" if node.tag[0] == "p" else "&")
        if node.tag == "qualified-type-def":
            return ("const " if node.get("const") else "") + self.name(node.get("type-id"))
        return short(self.scopes.get(type_id) or node.get("name", node.tag))


def interface(library: str, compiler: str, symbols: list[str]) -> list[str]:
    dynamic = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as scratch:
        layouts = Layouts(describe(compiler, Path(scratch))).lines
    unseen = [name for name in public_types() if name not in layouts]
    assert not unseen, f"abidw does not describe {unseen}"
    return [re.search(r"SONAME\s+(\S+)", dynamic)[1],
            *(prototypes().get(name, name) for name in symbols),
            *(line for name in sorted(layouts) for line in layouts[name])]


def main() -> None:
    library, compiler = sys.argv[1:3]
    symbols = exported(library)
    check_exports(symbols)
    if not shutil.which("abidw"):
        print("skipped: no abidw, which tools/setup --tests installs")
        sys.exit(1 if os.environ.get("BERT_INFER_REQUIRE_PACKAGING") == "1" else 77)
    found = interface(library, compiler, symbols)
    if "--write" in sys.argv:
        RECORDED.write_text("\n".join(found) + "\n")
        return
    recorded = RECORDED.read_text().splitlines()
    changes = list(difflib.unified_diff(recorded, found, "tests/install/abi.txt", "the library", lineterm="", n=1))
    if not changes:
        return
    print("\n".join(changes))
    removed = [line for line in changes[2:] if line.startswith("-")]
    sys.exit("the interface has changed. " + (
        "Programs that are linked with it may break: unless it was never released, change the SONAME too. "
        if removed and recorded[0] == found[0] else "") +
        f"Record it: {Path(__file__).relative_to(ROOT)} LIBRARY CXX_COMPILER --write")


if __name__ == "__main__":
    main()
