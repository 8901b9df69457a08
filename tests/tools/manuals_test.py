#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the programs say of themselves, and what is made of it: --version, man pages, completion for bash
and zsh. Usage: manuals_test.py BIN_DIR"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/package/manuals"))

import manual_text  # noqa: E402

REQUIRED = os.environ.get("BERT_INFER_REQUIRE_PACKAGING") == "1"


def printed(*command, **options) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def listed(program: Path, *command: str) -> dict[str, str]:
    """What the value of each option is."""
    lines = [line.split("\t") for line in manual_text.run(program, *command, "--list-options").splitlines()]
    return {name: value for names, value in lines for name in names.split(",") if name.startswith("-")}


class Manuals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.share = Path(scratch.name, "share")
        cls.programs = sorted(BIN.glob("bert-*"))
        subprocess.run([sys.executable, ROOT / "tools/package/manuals/make_manuals.py", cls.share,
                        *cls.programs], check=True)
        cls.pages = sorted(cls.share.glob("man/man1/*.1.gz"))
        cls.models = Path(scratch.name, "models")
        (cls.models / "home/hub/models--org--some-model").mkdir(parents=True)
        for name in ("my_model/config", "my_other"):
            (cls.models / name).mkdir(parents=True)
        (cls.models / "my_pairs.tsv").touch()

    def need(self, program: str) -> None:
        if shutil.which(program):
            return
        self.assertFalse(REQUIRED, f"no {program}, which tools/setup --packaging installs")
        self.skipTest(f"no {program}")

    def test_version(self):
        self.assertGreaterEqual(len(self.programs), 4)
        texts = {printed(program, "--version").replace(program.name, "") for program in self.programs}
        self.assertEqual(len(texts), 1)
        self.assertRegex(texts.pop(), r"^ \d+\.\d+\.\d+\noneDNN \d+\.\d+\.\d+\n"
                         r"backend: f32 (onednn|panels), bf16 (onednn|panels), int8 (onednn|panels)\n"
                         r"instruction set: (portable|avx2\w*|avx512\w*|amx)\n$")
        limited = printed(self.programs[0], "--version", env={**os.environ, "ONEDNN_MAX_CPU_ISA": "SSE41"})
        self.assertTrue(limited.endswith("instruction set: portable\n"), limited)

    def test_manuals_name_the_options(self):
        for program in self.programs:
            for command, manual in zip(manual_text.commands_of(program), manual_text.manuals_of(program)):
                self.assertEqual(manual.name, " ".join([program.name, *command]))
                with self.subTest(manual.name):
                    described = set(manual.options()) - {"--"}
                    self.assertEqual(described, set(listed(program, *command)))
                    self.assertGreater(len(described), 4)
                    for option, value in listed(program, *command).items():
                        # A value has a name in the manual, a flag has none.
                        self.assertEqual(" " in re.sub(r"^-\w, ", "", manual.options()[option].spelling),
                                         bool(value), option)

    def test_the_documentation_names_the_options(self):
        pages = "".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))
        for program in self.programs:
            for command in manual_text.commands_of(program):
                for option in filter(lambda name: name.startswith("--"), listed(program, *command)):
                    with self.subTest(f"{program.name} {' '.join(command)} {option}"):
                        self.assertTrue(re.search(rf"{option}(?![\w-])", pages))

    def test_man_pages(self):
        self.assertEqual(len(self.pages), len(self.programs) + 2)
        self.need("man")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"}
        for page in self.pages:
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page],
                                  capture_output=True, text=True, env=environment)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            text = re.sub(".\b|\x1b\\[\\d+m", "", done.stdout)
            program, *command = page.name.removesuffix(".1.gz").replace("bert-infer-", "bert-infer ").split()
            for option in listed(BIN / program, *command):
                self.assertRegex(text, rf"(?m)^ .*(?<!\S){option}\b")
            for heading in ("NAME", "SYNOPSIS", "SEE ALSO"):
                self.assertRegex(text, f"(?m)^{heading}$")

    def completed(self, *words: str) -> list[str]:
        """What bash offers for the last word."""
        script = self.share / "bash-completion/completions" / words[0]
        program = (f"source {script}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); compopt() {{ :; }}; "
                   f"_{words[0].replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        found = printed("bash", "-uc", program, "bash", *words, cwd=self.models,
                        env={**os.environ, "HF_HOME": str(self.models / "home"), "HF_HUB_CACHE": ""})
        return sorted(found.split())

    def test_bash_offers_the_options(self):
        for program in self.programs:
            for command in manual_text.commands_of(program):
                options = listed(program, *command)
                self.assertEqual(self.completed(program.name, *command, "-"), sorted(options))
                for option, value in options.items():
                    if value.startswith("{"):
                        expected = sorted(value.strip("{}").split(","))
                        self.assertEqual(self.completed(program.name, *command, option, ""), expected)
                        self.assertEqual(self.completed(program.name, *command, option, "="), expected)
                        self.assertEqual(self.completed(program.name, *command, option, "=", expected[0]),
                                         [word for word in expected if word.startswith(expected[0])])

    def test_bash_offers_files_and_models(self):
        self.assertEqual(self.completed("bert-infer", "-m", "my"), ["my_model", "my_other"])
        self.assertEqual(self.completed("bert-infer", "--model", "=", "or"), ["org/some-model"])
        self.assertEqual(self.completed("bert-infer", "-i", "my_p"), ["my_pairs.tsv"])
        self.assertEqual(self.completed("bert-infer", ""), ["info", "merge"])
        self.assertEqual(self.completed("bert-infer", "merge", "my_p"), ["my_pairs.tsv"])
        self.assertEqual(self.completed("bert-infer", "--threads", ""), [])

    def test_zsh(self):
        """What a terminal shows once the tabulator was pressed."""
        self.need("zsh")
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.models)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {
                "PATH": os.environ["PATH"], "HOME": str(self.models), "HF_HOME": str(self.models / "home"),
                "TERM": "dumb", "PS1": "", "FUNCTIONS": str(self.share / "zsh/site-functions")})
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.close, terminal)
        os.write(terminal, b"fpath=($FUNCTIONS $fpath); autoload -U compinit; compinit -u -D; echo rea''dy\n")
        self.read_until(terminal, "\nready")
        for typed, expected in [("bert-infer --aggre", "--aggregation="), ("bert-infer --task fil", "fill-mask"),
                                ("bert-infer mer", "merge"), ("bert-infer info --pre", "--precision="),
                                ("bert-infer -m org", "org/some-model"), ("bert-infer -i my_p", "my_pairs.tsv"),
                                ("bert-infer 'one text' --tas", "--task="),
                                ("bert-serve --http", "--http-threads="), ("bert-regress --rt", "--rtol="),
                                ("bert-bench --comp", "--compare"), ("bert-convert --precision=in", "int8")]:
            if (BIN / typed.split()[0]).exists():
                os.write(terminal, typed.encode() + b"\t")
                self.read_until(terminal, expected)
                os.write(terminal, b"\x15\necho do''ne\n")  # drops the line
                self.read_until(terminal, "\ndone")

    def read_until(self, terminal: int, wanted: str) -> None:
        text = ""
        while wanted not in text:
            self.assertTrue(select.select([terminal], [], [], 20)[0], f"{text!r} has no {wanted!r}")
            text += re.sub("[\r\a]", "", os.read(terminal, 4096).decode(errors="replace"))


if __name__ == "__main__":
    BIN = Path(sys.argv.pop()).resolve()
    unittest.main()
