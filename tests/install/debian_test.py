#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian packages of the build, unpacked into a folder: what is in which, what lintian says of them, and one
pair's logits by the program, in C, C++ and Python. Usage: debian_test.py BUILD_DIR

tools/package/try installs the same packages in a bare chroot.
"""
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIRED = os.environ.get("BERT_INFER_REQUIRE_PACKAGING") == "1"


def run(*command, **options) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return done.stdout


def prepare(scratch: Path) -> dict[str, Path]:
    """The packages by name, unpacked in scratch/root."""
    # Compressing well would take longest.
    run(ROOT / "tools/package/make", "--output", scratch / "made", "--build", BUILD,
        "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
    packages = {}
    for file in sorted((scratch / "made").glob("*.deb")):
        packages[run("dpkg-deb", "-f", file, "Package").strip()] = file
        run("dpkg-deb", "-x", file, scratch / "root")
    return packages


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.dir = Path(scratch.name)
        cls.packages = prepare(cls.dir)
        cls.library = next(name for name in cls.packages if re.fullmatch(r"libbert-infer[\d.]+", name))

    def files(self, package: str) -> list[str]:
        listed = run("dpkg-deb", "-c", self.packages[package]).splitlines()
        return [line.split(" ./usr/")[1].split(" -> ")[0] for line in listed if not line.endswith("/")]

    def test_what_is_in_which(self):
        for package in self.packages:
            for document in ("copyright", "changelog.gz", "changelog.Debian.gz"):
                self.assertIn(f"share/doc/{package}/{document}", self.files(package))
        libraries = [Path(name).name for name in self.files(self.library) if name.startswith("lib/")]
        version = self.library.removeprefix("libbert-infer")
        self.assertEqual(sorted(libraries), [f"libbert_infer.so.{version}", f"libbert_infer.so.{version}.0"])
        development = self.files("libbert-infer-dev")
        for name in ("include/bert_infer.h", "include/bert_infer_c.h", "/pkgconfig/bert_infer.pc",
                     "/libbert_infer.a", "/libbert_infer.so", "/cmake/bert_infer/bert_infer-config.cmake"):
            self.assertTrue(any(file.endswith(name) for file in development), name)
        tools = self.files("bert-infer")
        for program in BUILD.glob("bin/bert-*"):
            for name in (f"bin/{program.name}", f"share/man/man1/{program.name}.1.gz",
                         f"share/bash-completion/completions/{program.name}",
                         f"share/zsh/site-functions/_{program.name}"):
                self.assertIn(name, tools)
        self.assertIn("share/bert-infer/demo/model.safetensors", tools)
        if "python3-bert-infer" in self.packages:
            self.assertIn("lib/python3/dist-packages/bert_infer/__init__.py", self.files("python3-bert-infer"))
        depends = run("dpkg-deb", "-f", self.packages["bert-infer"], "Depends")
        self.assertRegex(depends, r"libdnnl\d.*libsentencepiece")

    def test_lintian(self):
        if not shutil.which("lintian"):
            self.assertFalse(REQUIRED, "no lintian, which tools/setup --packaging installs")
            self.skipTest("no lintian")
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", *self.packages.values()],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_pair(self):
        """The same bits by every way."""
        root, scratch = self.dir / "root/usr", self.dir / "pair"
        has_python = "python3-bert-infer" in self.packages
        scratch.mkdir()
        library = next(root.glob("lib/*/libbert_infer.so")).parent
        environment = {**os.environ, "PATH": f"{root}/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": str(library),
                       "PKG_CONFIG_PATH": f"{library}/pkgconfig", "CMAKE_PREFIX_PATH": str(root),
                       "PYTHONPATH": f"{root}/lib/python3/dist-packages", "PYTHON": "/usr/bin/python3" if has_python else "none"}
        lines = run(ROOT / "tests/install/pair/answer", scratch, env=environment).splitlines()
        self.assertEqual(len(lines), 4 + has_python, lines)
        self.assertEqual(len({line.split(": ")[1] for line in lines}), 1, lines)
        self.assertRegex(lines[0], r"^bert-infer: -?\d+\.\d+ -?\d+\.\d+ -?\d+\.\d+$")
        # The page's CMake: a converted model, and a program that needs no shared library.
        page = (ROOT / "docs/install.md").read_text()
        start = "cmake_minimum_required(VERSION 3.16)\nproject(app CXX)\n"
        (scratch / "CMakeLists.txt").write_text(start + re.search(r"```cmake\n(.*?)```", page, re.DOTALL)[1])
        shutil.copy(ROOT / "tests/install/pair/pair.cc", scratch / "main.cc")
        run("cmake", "-S", scratch, "-B", scratch / "app", env=environment)
        run("cmake", "--build", scratch / "app", env=environment)
        answer = run(scratch / "app/app", "A man.", "A dog.", scratch / "app/model-int8")
        self.assertRegex(answer, r"^-?\d\S* -?\d\S* -?\d\S*$")
        # Libraries and components that are not there are errors that name them.
        (scratch / "CMakeLists.txt").write_text(start + "find_package(bert_infer REQUIRED COMPONENTS soup)\n")
        done = subprocess.run(["cmake", "-S", scratch, "-B", scratch / "wrong"], env=environment,
                              capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("component soup: not installed, or unknown", done.stderr)

    def test_source_tarball(self):
        """It has every file of the repository."""
        if not (ROOT / ".git").exists():
            self.skipTest("not a checkout")
        tracked = run("git", "-C", ROOT, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
        with tarfile.open(next((self.dir / "made").glob("*.tar.gz"))) as tar:
            names = {member.name.split("/", 1)[1] for member in tar if member.isfile()}
        self.assertEqual(names, set(tracked))


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop()).resolve()
    if not (BUILD / "CPackConfig.cmake").exists() or not shutil.which("dpkg-deb") or not shutil.which("file"):
        print("skipped: packages are made on Debian, with dpkg-dev and file (tools/setup --packaging)")
        sys.exit(1 if REQUIRED else 77)
    unittest.main()
