#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Collects real text in two dozen languages from Debian packages, to compare and time tokenizers with.

    real_text.py DIR      writes DIR/LANGUAGE.txt, DIR/bible.txt and DIR/mixed.txt

bible.txt is the King James Bible, one verse a line; mixed.txt has a line of each language in turn. It needs
apt-get and dpkg-deb, and installs nothing.
"""
import gzip
import pathlib
import re
import subprocess
import sys
import zipfile

FORTUNES = "bg cs de es ga it pl ru zh".split()
MANUALS = "de el fr ja ru sr uk vi zh".split()
REFERENCES = "de en es fr id it ja pt zh-cn zh-tw".split()
MESSAGES = "ar bn fa he hi-in hy-am ka km ko my ta te th ur".split()
# mixed.txt takes from each language in turn, so that no part of it is in one script.
MIXED_BYTES = 200_000


def extract(package: str, root: pathlib.Path) -> pathlib.Path:
    """The files of a Debian package, below a directory of their own."""
    target = root / "packages" / package
    if not target.exists():
        subprocess.run(["apt-get", "download", package], cwd=root / "packages", check=True)
        archive = next((root / "packages").glob(f"{package}_*.deb"))
        subprocess.run(["dpkg-deb", "-x", archive, target], check=True)
        archive.unlink()
    return target


def texts(path: pathlib.Path):
    """The contents of the UTF-8 text files below a path."""
    for file in sorted(path.rglob("*")):
        if file.is_symlink() or not file.is_file():
            continue
        if file.suffix == ".xpi":
            with zipfile.ZipFile(file) as archive:
                for name in sorted(archive.namelist()):
                    if name.endswith(".ftl"):
                        yield archive.read(name).decode()
            continue
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        if b"\0" in data:
            continue
        try:
            yield data.decode()
        except UnicodeDecodeError:
            pass


def lines_of(text: str) -> list[str]:
    """Lines without the mark-up of manual pages, fortunes and messages."""
    text = re.sub(r"^[.'].*$|^%$|^#.*$|^[-\w]+ =|\\[a-zA-Z&-]\w?", "", text, flags=re.M)
    return [line for line in (line.strip() for line in text.split("\n")) if len(line) > 1]


def bible(root: pathlib.Path) -> list[str]:
    """The verses of the King James Bible; its file is compressed in a format of its own."""
    program = extract("bible-kjv", root) / "usr/bin/bible"
    data = extract("bible-kjv-text", root) / "usr/lib"
    verses = subprocess.run([program.resolve(), "-p", data.resolve(), "-f", "Gen1:1-Rev22:21"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, text=True)
    return [line.split(" ", 1)[1] for line in verses.stdout.splitlines() if " " in line]


def in_turn(languages: list[list[str]]) -> list[str]:
    """A line of each language in turn, at most MIXED_BYTES of each."""
    left = {i: MIXED_BYTES for i in range(len(languages))}
    mixed = []
    for row in range(max(map(len, languages))):
        for i, lines in enumerate(languages):
            if row < len(lines) and left[i] > 0:
                mixed.append(lines[row])
                left[i] -= len(lines[row].encode())
    return mixed


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    (root / "packages").mkdir(parents=True, exist_ok=True)
    sources = [(language, f"fortunes-{language}", "usr/share/games") for language in FORTUNES]
    sources += [(language, f"manpages-{language}", "usr/share/man") for language in MANUALS]
    sources += [(language, f"debian-reference-{language}", "usr/share/debian-reference")
                for language in REFERENCES]
    sources += [(language, f"firefox-esr-l10n-{language}", "usr/lib") for language in MESSAGES]
    languages: dict[str, list[str]] = {}
    for language, package, folder in sources:
        for text in texts(extract(package, root) / folder):
            languages.setdefault(language, []).extend(lines_of(text))
    files = {**languages, "bible": bible(root), "mixed": in_turn(list(languages.values()))}
    for name, lines in files.items():
        (root / f"{name}.txt").write_text("\n".join(lines) + "\n")
        print(name, len(lines), "lines")


if __name__ == "__main__":
    main()
