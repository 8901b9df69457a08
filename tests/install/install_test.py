#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is installed, and the source tree inside another project: install_test.py BUILD_DIR

Installs the build into an empty prefix, then uses the source tree as a subdirectory of another project.
tests/docs/pages_test.py builds programs with what is installed.
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


def check_static_in_c(prefix: Path, scratch: Path) -> None:
    """A project whose only language is C links the static library."""
    (scratch / "main.c").write_text('#include <bert_infer_c.h>\n#include <stdio.h>\n'
                                    'int main(void) { return puts(bert_version()) < 0; }\n')
    (scratch / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.16)
project(app C)
find_package(bert_infer REQUIRED COMPONENTS static)
add_executable(app main.c)
target_link_libraries(app bert_infer::bert_infer_static)
""")
    run("cmake", "-S", scratch, "-B", scratch / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", scratch / "build")
    assert "." in run(scratch / "build" / "app")


def main() -> None:
    build, source = Path(sys.argv[1]), Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as scratch:
        prefix, parent, in_c = (Path(scratch, name) for name in ("prefix", "parent", "in_c"))
        run("cmake", "--install", build, "--prefix", prefix)
        headers = sorted(str(path.relative_to(prefix / "include")) for path in prefix.glob("include/**/*.h"))
        assert headers == ["bert_encoding.h", "bert_infer.h", "bert_infer_c.h", "bert_queue.h",
                           "bert_queue_c.h", "bert_ranking.h"], headers

        # The installed program finds its library and the demo model in any prefix.
        answer = run(prefix / "bin" / "bert-infer", "A man.", "A dog.",
                     env={**os.environ, "PATH": "/usr/bin:/bin"})
        assert json.loads(answer)["label"] in ("entailment", "contradiction", "neutral"), answer

        in_c.mkdir()
        check_static_in_c(prefix, in_c)
        parent.mkdir()
        check_as_subproject(source, parent)


if __name__ == "__main__":
    main()
