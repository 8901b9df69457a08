# SPDX-License-Identifier: Apache-2.0
"""Where bert-convert writes: which files come along, and what a run that fails leaves behind."""
import json
import os
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
from command_line import ToolTest, main
from tensor_file import write_tensors


class ConvertDirectoriesTest(ToolTest):
    tool = "bert-convert"

    def test_other_files_come_along_and_weights_do_not(self):
        source = self.make_model("files", "--sentence-transformers", "mean", "--head", "none")
        config = json.loads((source / "config.json").read_text())
        (source / "config.json").write_text(json.dumps({**config, "nobody_knows": 3}))
        size = (source / "model.safetensors").stat().st_size
        weights = {"pytorch_model.bin": 1050000 - size // 2, "model.ckpt.data-00000-of-00001": 2000000}
        for name in ("model.h5", "flax_model.msgpack", "rust_model.ot", "pytorch_model.bin.index.json", "checkpoint",
                     "flax_model.msgpack.safetensors.index.json"):
            weights[name] = 3
        for name, length in weights.items():
            (source / name).write_bytes(bytes(length))
        (source / ".cache").mkdir()
        (source / ".cache" / "x").write_text("x")
        os.mkfifo(source / "pipe")
        target = self.dir / "files-int8"
        done = self.run_tool("-m", source, "--precision", "int8", "-o", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {str(path.relative_to(target)) for path in target.rglob("*")}
        self.assertLessEqual({"vocab.txt", "modules.json", "1_Pooling/config.json"}, names)
        self.assertFalse(names & {*weights, ".cache/x", "pipe"})
        self.assertRegex(done.stderr, r"note: .*nobody_knows.*\n")
        self.assertIn(f"{target}: 0.0 MB of weights, {source} has 3.1 MB\n", done.stderr)

    def test_adapters_stay_behind(self):
        """They are added, or left out; without its weights, an adapter's folder could not be loaded."""
        source, target = self.make_model("adapted"), self.dir / "adapted-int8"
        for name in "adapter_config.json", "adapter_model.safetensors", "README.md":
            (source / "adapters" / "retrieval").mkdir(parents=True, exist_ok=True)
            (source / "adapters" / "retrieval" / name).write_text("{}")
        (source / "adapters" / "about.txt").write_text("a")
        self.succeed("-m", source, "-o", target, "--precision", "int8")
        self.assertEqual([path.name for path in (target / "adapters").iterdir()], ["about.txt"])

    def test_a_table_for_queries_comes_along(self):
        source, target = self.make_model("router", "--head", "mlm", "--retrieval", "splade"), self.dir / "router-int8"
        kind, table = "sentence_transformers.sparse_encoder.models.", source / "query_0"
        documents = json.loads((source / "modules.json").read_text())
        folder = documents[1]["path"]
        (source / "modules.json").write_text(json.dumps(
            [{"path": "", "type": "sentence_transformers.models.Router"}]))
        (source / "router_config.json").write_text(json.dumps({
            "types": {"": kind + "MLMTransformer", folder: kind + "SpladePooling",
                      "query_0": kind + "SparseStaticEmbedding"},
            "structure": {"query": ["query_0"], "document": ["", folder]},
            "parameters": {"default_route": "document"}}))
        table.mkdir()
        (table / "config.json").write_text("{}")
        for name in "vocab.txt", "tokenizer_config.json":
            shutil.copy(source / name, table / name)
        size = json.loads((source / "config.json").read_text())["vocab_size"]
        write_tensors(table / "model.safetensors", {"weight": np.arange(1, size + 1, dtype=np.float32)}, {})
        self.succeed("-m", source, "-o", target, "--precision", "int8")
        self.tool = "bert-infer"
        asked = ["--task", "sparse", "a man"]
        self.assertEqual(self.succeed("-m", target, *asked), self.succeed("-m", source, "--precision", "int8", *asked))

    def test_links_are_copied_as_what_they_point_to(self):
        # As in the hub's cache.
        whole = self.make_model("linked", "--sentence-transformers", "mean", "--head", "none")
        blobs, source = self.dir / "blobs", self.dir / "snapshots" / "x"
        source.mkdir(parents=True)
        blobs.mkdir()
        for i, path in enumerate(sorted(whole.iterdir())):
            path.rename(blobs / str(i))
            (blobs / str(i)).chmod(0o555 if (blobs / str(i)).is_dir() else 0o444)
            (source / path.name).symlink_to(f"../../blobs/{i}")
        before = sorted(self.dir.rglob("*"))
        for precision in ["int8", "bf16"]:
            target = self.dir / f"linked-{precision}"
            self.succeed("-m", source, "--precision", precision, "-o", target)
            self.assertFalse([path for path in target.rglob("*") if path.is_symlink()])
            self.assertEqual((target / "1_Pooling" / "config.json").read_text(),
                             (source / "1_Pooling" / "config.json").read_text())
            self.tool = "bert-infer"
            self.assertEqual(self.succeed("-m", target, "--precision", precision, "a"),
                             self.succeed("-m", source, "--precision", precision, "a"))
            self.tool = "bert-convert"
            shutil.rmtree(target)
        self.assertEqual(sorted(self.dir.rglob("*")), before)

    def test_links_that_lead_in_a_circle(self):
        source = self.make_model("circle")
        (source / "more").mkdir()
        (source / "more" / "up").symlink_to("..")
        (source / "more" / "out").symlink_to("../..")
        (source / "again").symlink_to("more")
        (source / "other").mkdir()
        (source / "other" / "one").symlink_to("../more")
        (source / "more" / "two").symlink_to("../other")
        (self.dir / "elsewhere").mkdir()
        (self.dir / "elsewhere" / "back").symlink_to("../circle")
        (source / "elsewhere").symlink_to("../elsewhere")
        self.write("circle/more/note.txt", "a note")
        self.write("note.txt", "another's")
        target = self.dir / "circle-int8"
        self.succeed("-m", source, "-o", target, "--precision", "int8")
        notes = sorted(str(path.relative_to(target)) for path in target.rglob("note.txt"))
        self.assertEqual(notes, ["again/note.txt", "more/note.txt", "other/one/note.txt"])

    def test_the_new_directory_in_the_models_own(self):
        source = self.make_model("inside")
        for target in "a/new", "b", "c/":
            self.succeed("-m", source, "-o", f"{source}/{target}", "--precision", "int8")
            self.assertTrue((source / target / "model.safetensors").exists())
        (self.dir / "link").symlink_to(source / "c")
        shutil.rmtree(source / "c")
        (source / "c").mkdir()
        self.succeed("-m", source, "-o", self.dir / "link", "--precision", "int8")
        self.assertTrue((source / "c" / "model.safetensors").exists())
        self.assertFalse((source / "c" / "c").exists())
        self.assertEqual(list(source.rglob("*.partial")), [])
        self.succeed("-m", source, "-o", "relative", "--precision", "int8", cwd=self.dir)
        self.assertTrue((self.dir / "relative" / "model.safetensors").exists())
        self.fail_with(2, "--adapter: the value is empty", "-m", source, "-o", self.dir / "x", "--adapter", "",
                       "--precision", "int8")

    def test_a_full_disk_leaves_no_model(self):
        source, target = self.make_model("full"), self.dir / "full8"
        command = ["-m", source, "-o", target, "--precision", "int8"]
        small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))}
        self.fail_with(1, "^bert-convert: .*full8", *command, **small)
        self.assertFalse(target.exists())
        (source / "README.md").write_text("a" * 10000)
        self.fail_with(1, "README.md: cannot be copied to .*full8.*/README.md: File too large$", *command, **small)
        self.assertFalse(target.exists())
        target.mkdir()  # a directory that existed before stays, empty
        self.run_tool(*command, **small)
        self.assertEqual(list(target.iterdir()), [])

    def start(self, source, target) -> subprocess.Popen:
        return subprocess.Popen(self.command("-m", source, "-o", target, "--precision", "int8"),
                                stderr=subprocess.PIPE, text=True)

    def test_an_interrupted_run_leaves_nothing(self):
        source = self.make_model("large", "--shape", "4,512,8,2048")
        for was_there in False, True:
            target, stopped = self.dir / f"stopped-{was_there}" / "new", 0
            place = target if was_there else target.parent
            place.mkdir(parents=True)
            for number in (signal.SIGTERM, signal.SIGINT) * 20:
                process = self.start(source, target)
                while process.poll() is None and not list(place.glob(".*.partial/*")):
                    time.sleep(0.001)
                process.send_signal(number)
                errors = process.communicate()[1]
                if process.returncode == -number:
                    stopped += 1
                    self.assertEqual(errors.splitlines()[-1], f"bert-convert: {signal.strsignal(number)}: {target} is "
                                                              "not written")
                    self.assertEqual(list(place.iterdir()), [])
                else:  # so fast
                    self.assertEqual(process.returncode, 0, errors)
                    shutil.rmtree(target)
                    place.mkdir(exist_ok=True)
                if stopped == 2:
                    break
            self.assertEqual(stopped, 2)
            self.succeed("-m", source, "-o", target, "--precision", "int8")

    def test_of_two_runs_at_once_one_succeeds(self):
        source = self.make_model("raced", "--shape", "4,512,8,2048")
        self.succeed("-m", source, "-o", self.dir / "alone", "--precision", "int8")
        wanted = (self.dir / "alone" / "model.safetensors").read_bytes()
        for was_there in False, True:
            place = self.dir / f"raced-{was_there}"
            target = place / "new"
            (target if was_there else place).mkdir(parents=True)
            two = [self.start(source, target) for _ in range(2)]
            errors = [process.communicate()[1] for process in two]
            codes = [process.returncode for process in two]
            self.assertLessEqual(codes.count(0), 1, errors)
            for code, error in zip(codes, errors):
                if code != 0:
                    self.assertRegex(error.splitlines()[-1], "new: exists and is not an empty directory$")
            if not was_there:
                self.assertEqual(sorted(codes), [0, 1])
                self.assertEqual((target / "model.safetensors").read_bytes(), wanted)
                self.assertEqual([path.name for path in place.iterdir()], ["new"])


if __name__ == "__main__":
    main()
