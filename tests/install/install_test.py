#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the README's C++ example against an installed copy: install_test.py BUILD_DIR README MODEL

Installs the build into an empty prefix, writes the README's CMakeLists.txt and main.cc into an empty
directory, and builds and runs them there with find_package. Then it uses the source tree as a
subdirectory of another project.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command: str | Path, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return done.stdout


def block(readme: str, language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", readme, re.DOTALL)
    assert len(found) == 1, f"expected one {language} block in the README, found {len(found)}"
    return found[0]


def check_as_subproject(source: Path, scratch: Path) -> None:
    """The parent project keeps CMake's defaults and gets the library without tests and programs."""
    (scratch / "x.cc").write_text("int x;\n")
    (scratch / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.23)
project(parent CXX)
add_subdirectory("{source}" bert)
add_library(mine x.cc)
get_target_property(mine mine TYPE)
get_target_property(theirs bert_infer TYPE)
get_property(targets DIRECTORY "{source}" PROPERTY BUILDSYSTEM_TARGETS)
message(STATUS "mine ${{mine}} theirs ${{theirs}} targets ${{targets}}")
""")
    found = re.search("mine (.*) theirs (.*) targets (.*)",
                      run("cmake", "-S", scratch, "-B", scratch / "build"))
    assert found[1] == found[2] == "STATIC_LIBRARY", found[0]
    assert "bert-infer" not in found[3] and "bert_infer_tools" not in found[3], found[0]


def main() -> None:
    build, readme, model = Path(sys.argv[1]), Path(sys.argv[2]).read_text(), sys.argv[3]
    with tempfile.TemporaryDirectory() as scratch:
        prefix, app = Path(scratch, "prefix"), Path(scratch, "app")
        run("cmake", "--install", build, "--prefix", prefix)
        headers = sorted(str(path.relative_to(prefix / "include")) for path in prefix.glob("include/**/*.h"))
        assert headers == ["bert_encoding.h", "bert_infer.h", "bert_queue.h"], headers

        app.mkdir()
        (app / "main.cc").write_text(block(readme, "cpp"))
        (app / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(app CXX)\n" + block(readme, "cmake"))
        run("cmake", "-S", app, "-B", app / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        run("cmake", "--build", app / "build")
        lines = run(app / "build" / "app", model).splitlines()
        assert len(lines) == 2, lines
        for line in lines:
            assert re.fullmatch(r"LABEL_[012]\s+0\.\d{4}", line), line

        # The installed program finds its library and the demo model in any prefix.
        answer = run(prefix / "bin" / "bert-infer", "-m", model, "A man.", "A dog.",
                     env={**os.environ, "PATH": "/usr/bin:/bin"})
        assert "LABEL_" in answer, answer
        answer = run(prefix / "bin" / "bert-infer", "A man.", "A dog.")
        assert json.loads(answer)["label"] in ("entailment", "contradiction", "neutral"), answer

        # The library exports only what its header declares, and instances of std's templates.
        library = next(prefix.glob("lib*/**/libbert_infer.so"), None)
        if library:
            assert len(run(app / "build" / "app").splitlines()) == 2, "the demo model is the default"
            symbols = run("nm", "-DC", "--defined-only", library).splitlines()
            foreign = [line for line in symbols if not re.search(r"bert::|std::|gnu_cxx", line)]
            assert not foreign, foreign
            assert not [line for line in symbols if re.search(r" T .*(engine|models|tokenizer)::", line)]
        parent = Path(scratch, "parent")
        parent.mkdir()
        check_as_subproject(Path(sys.argv[2]).resolve().parent, parent)


if __name__ == "__main__":
    main()
