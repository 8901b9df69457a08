#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes in tools/cluster on this machine: the merged answers are the bytes of one run, also when
a process is killed. Slurm and GNU parallel are needed; without them the tests are skipped.
Usage: cluster_test.py BIN_DIR"""
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

from command_line import ROOT, ToolTest, main

SLURM = ["munged", "slurmctld", "slurmd", "sbatch"]


def needs(*programs: str):
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [name for name in programs if not shutil.which(name, path=path)]
    if missing and os.environ.get("BERT_INFER_REQUIRE_CLUSTER"):
        raise RuntimeError(f"no {', '.join(missing)}: tools/setup --cluster installs them")
    return unittest.skipIf(missing, f"no {', '.join(missing)}")


class ClusterTest(ToolTest):
    tool = "bert-infer"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rng = random.Random(11)
        words = "a man is playing guitar dog the in on music woman runs".split()
        text = lambda: " ".join(rng.choices(words, k=rng.randint(1, 30)))  # noqa: E731
        cls.pairs = cls.dir / "the pairs.tsv"
        cls.pairs.write_text("".join(f"{text()}\t{text()}\n" for _ in range(5000)))
        cls.options = ["-m", str(cls.model), "-i", str(cls.pairs), "--task", "embed", "--quiet"]
        cls.whole = cls.dir / "whole.jsonl"
        subprocess.run([cls.bin / cls.tool, *cls.options, "-o", cls.whole], check=True)

    def recipe(self, name: str, out, *arguments, options=None, **more) -> subprocess.CompletedProcess:
        environment = os.environ | {"BERT_INFER": str(self.bin / self.tool)} | more
        return subprocess.run([ROOT / "tools" / "cluster" / name, "4", out, *arguments,
                               *(options or self.options)],
                              env=environment, capture_output=True, text=True, timeout=120,
                              cwd=self.dir)

    def kill_one(self, until):
        """Kills one process of a shard as soon as there is any; whether there was one."""
        while not until():
            done = subprocess.run(["pgrep", "-f", f"{self.bin}/{self.tool}.*{self.dir}.*--shard"],
                                  capture_output=True, text=True)
            for pid in done.stdout.split():
                try:
                    if os.readlink(f"/proc/{pid}/exe").endswith(self.tool):
                        os.kill(int(pid), signal.SIGKILL)
                        return True
                except OSError:  # it has just ended
                    pass
            time.sleep(0.01)
        return False

    def check(self, out):
        self.assertEqual(out.read_bytes(), self.whole.read_bytes())
        self.assertEqual([path.name for path in self.dir.glob(f"{out.stem}.*")], [out.name])

    @needs("parallel", "pgrep")
    def test_parallel(self):
        out = self.dir / "parallel.jsonl"
        with subprocess.Popen(
                [ROOT / "tools" / "cluster" / "parallel", "4", out, "--jobs", "2", "--", *self.options],
                env=os.environ | {"BERT_INFER": str(self.bin / self.tool)}, cwd=self.dir,
                stderr=subprocess.PIPE, text=True) as process:
            killed = self.kill_one(lambda: process.poll() is not None)
            _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        self.assertTrue(killed)
        self.check(out)

    @needs("parallel")
    def test_a_line_that_is_no_input(self):
        bad = self.write("bad.tsv", "a\nb\n\nc\nd\n")
        out = self.dir / "bad.jsonl"
        done = self.recipe("parallel", out, "--retries", "1", "--", options=["-m", str(self.model), "-i", str(bad)])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("bad.tsv:3: the line is empty", done.stderr)
        self.assertFalse(out.exists())
        self.assertEqual([(self.dir / f"bad.shard-{i}-of-4.jsonl").exists() for i in range(4)],
                         [True, True, False, True])

    def test_usage(self):
        for name, end in ("slurm", "starts again on another node (--requeue).\n"), ("parallel", "shards are whole.\n"):
            for arguments in [], ["0", "x.jsonl", "-i", "x.tsv"], ["2", "x.jsonl"]:
                done = subprocess.run([ROOT / "tools" / "cluster" / name, *arguments], capture_output=True, text=True)
                self.assertEqual(done.returncode, 2)
                self.assertTrue(done.stderr.startswith(f"tools/cluster/{name} SHARDS FILE"), done.stderr)
                self.assertTrue(done.stderr.endswith(end), done.stderr)
            done = self.recipe(name, "x.npy")
            self.assertEqual((done.returncode, done.stderr),
                             (2, f"{name}: x.npy: expected a name that ends in .jsonl or .tsv\n"))

    @needs("parallel")
    def test_what_only_one_process_could_read(self):
        os.mkfifo(self.dir / "fifo.tsv")
        for name in "slurm", "parallel":
            for given, found in (([], "nothing"), (["-i", "-"], "-"), (["-i-"], "-"), (["-qi", "-"], "-"),
                                 (["--input=/dev/stdin"], "/dev/stdin"), (["--input", "/dev/fd/63"], "/dev/fd/63"),
                                 (["-i", "fifo.tsv"], "fifo.tsv")):
                done = subprocess.run([ROOT / "tools" / "cluster" / name, "2", "x.jsonl", "-m", self.model, *given],
                                      capture_output=True, text=True, cwd=self.dir, stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stderr), (
                    2, f"{name}: --input: found {found}, expected a file, which each process reads\n"))
        asking = self.asking()
        for number, given in enumerate((["-ix.tsv"], ["-qix.tsv"], ["-qi", "x.tsv"], ["--input=x.tsv"])):
            done = subprocess.run([ROOT / "tools" / "cluster" / "parallel", "2", f"given-{number}.jsonl", *given],
                                  capture_output=True, text=True, cwd=self.dir, env=os.environ | asking)
            self.assertEqual(done.returncode, 0, done.stderr)

    def stub(self, name: str, script: str):
        path = self.write(name, f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def asking(self) -> dict:
        """The environment of a recipe that runs what only says what it is asked, in self.asked, and
        makes the outputs."""
        self.asked = self.write("asked", "")
        stub = self.stub("asking", f'echo "$@" >> {self.asked}\n'
                                   'while [ $# -gt 0 ]; do [ "$1" != -o ] || : > "$2"; shift; done')
        return {"BERT_INFER": str(stub)}

    @needs("parallel")
    def test_what_parallel_asks(self):
        asking = self.asking()
        for name, given, threads, gaps in (
                ("one.jsonl", ["--on-error", "skip"], ["--threads 1"], False),
                ("own.jsonl", ["--workers", "2"], [], False), ("same.jsonl", ["--threads=2"], ["--threads=2"], False),
                ("gaps.tsv", ["--on-error", "skip"], ["--threads 1"], True)):
            with self.subTest(name):
                self.asked.write_text("")
                done = self.recipe("parallel", self.dir / name, *given, **asking)
                self.assertEqual(done.returncode, 0, done.stderr)
                *shards, merge = self.asked.read_text().splitlines()
                self.assertEqual(len(shards), 4)
                for shard in shards:
                    self.assertEqual(re.findall(r"--threads[ =]\d", shard), threads)
                self.assertEqual("--allow-gaps" in merge, gaps)
        self.asked.write_text("")
        for own in "It is {}.", "{#} {.} {= $_ =}", "it's\n $1 \\":  # which parallel would replace, or the shell
            done = self.recipe("parallel", self.dir / "words.jsonl", "--query", own, **asking)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.asked.read_text().count(f"--query {own} "), 4)
            (self.dir / "words.jsonl").unlink()
            self.asked.write_text("")
        done = self.recipe("parallel", "-x.jsonl", **asking)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("merge -o ./-x.jsonl ./-x.shard-0-of-4.jsonl ./-x.shard-1-of-4.jsonl ", self.asked.read_text())
        self.asked.write_text("")
        done = self.recipe("parallel", self.dir / "one.jsonl", **asking)
        self.assertEqual((done.returncode, self.asked.read_text()), (0, ""))
        self.assertIn("one.jsonl is whole already", done.stderr)

    @needs("parallel")
    def test_parallel_goes_on_with_what_failed(self):
        asking = self.asking()
        failing = self.stub("failing", f'case "$*" in *" 2/4 "*) echo failed >> {self.asked}; exit 1;; esac\n'
                                       f'exec {asking["BERT_INFER"]} "$@"')
        out = self.dir / "failed.jsonl"
        done = self.recipe("parallel", out, "--retries", "1", "--", BERT_INFER=str(failing))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.asked.read_text().count("failed\n"), 1)
        self.asked.write_text("")
        done = self.recipe("parallel", out, **asking)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall("--shard 2/4 --resume .*\nmerge ", self.asked.read_text())), 1)
        self.assertEqual(self.asked.read_text().count("\n"), 2)

    @needs("parallel")
    def test_parts_of_other_options_are_not_merged(self):
        asking = self.asking()
        failing = self.stub("fails", "exit 1")
        for name, again in ("slurm", ["--max-length", "9"]), ("parallel", ["--max-length", "9"]):
            out = self.dir / f"begun-by-{name}.jsonl"
            path = {"PATH": f"{self.stub('sbatch', 'cat > /dev/null; echo 7').parent}:{os.environ['PATH']}"}
            self.recipe(name, out, BERT_INFER=str(failing), **path)
            self.asked.write_text("")
            done = self.recipe(name, out, *again, **asking | path)
            self.assertEqual((done.returncode, self.asked.read_text()), (2, ""), done.stderr)
            self.assertRegex(done.stderr, f"^{name}: .*{out.name} was begun with other options, see .*{out.name}.command")
            Path(f"{out}.command").unlink()
            self.assertEqual(self.recipe(name, out, *again, **asking | path).returncode, 0)

    def test_what_slurm_asks(self):
        asking = self.asking()
        stub = self.stub("sbatch", f'for job in array merge; do [ -s {self.dir}/$job ] || break; done\n'
                                   f'cat > {self.dir}/$job; echo 7')
        path = {"PATH": f"{stub.parent}:{os.environ['PATH']}"}
        for name, given, end, shard in (
                ("données.jsonl", [], "--threads 1 --workers 1", "données.shard-2-of-4.jsonl"),
                ("-x.jsonl", [], "--threads 1 --workers 1", "./-x.shard-2-of-4.jsonl"),
                ("x.shard-.y $z's.tsv", ["--threads", "3", "--on-error", "skip"], "--quiet",
                 "x.shard-.y $z's.shard-2-of-4.tsv")):
            with self.subTest(name):
                self.asked.write_text("")
                for job in "array", "merge":
                    (self.dir / job).unlink(missing_ok=True)
                done = self.recipe("slurm", name, *given, LC_ALL="C", **asking, **path)
                self.assertEqual((done.returncode, done.stdout), (0, "7\n"), done.stderr)
                environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
                for job in "array", "merge":
                    subprocess.run(["bash", self.dir / job], cwd=self.dir, capture_output=True,
                                   env=environment | {"SLURM_ARRAY_TASK_ID": "2"})
                task, merge = self.asked.read_text().splitlines()
                self.assertTrue(task.endswith(f"{end} --shard slurm/4 --resume -o {shard}"), task)
                self.assertEqual(merge.startswith("merge --allow-gaps -o x"), name.endswith(".tsv"))
                self.assertIn(shard, merge)
        for status, tries in (3, 1), (137, 4):  # the latter is a signal's
            self.asked.write_text("")
            (self.dir / "array").unlink()
            failing = self.stub("failing", f"echo failed >> {self.asked}; exit {status}")
            self.recipe("slurm", "failed.jsonl", BERT_INFER=str(failing), **path)
            done = subprocess.run(["bash", self.dir / "array"], cwd=self.dir)
            self.assertEqual((done.returncode, self.asked.read_text().count("failed\n")), (status, tries))

    @needs(*SLURM, "pgrep")
    @unittest.skipIf(os.getuid() != 0, "Slurm's daemons run as root here")
    def test_slurm(self):
        out = self.dir / "slurm.jsonl"
        with Slurm(self.dir / "daemons") as slurm:
            done = self.recipe("slurm", out, **slurm.environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            deadline = time.monotonic() + 100
            over = lambda: out.exists() or time.monotonic() > deadline  # noqa: E731
            killed = self.kill_one(over)
            while not over():
                time.sleep(0.1)
            self.assertTrue(out.exists(), slurm.queue())
            slurm.wait_until_idle(deadline)
            # If the tasks fail, nothing waits for them for ever.
            done = self.recipe("slurm", self.dir / "no.jsonl", "--task", "none", **slurm.environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            slurm.wait_until_idle(deadline)
            self.assertEqual(slurm.run("squeue", "-h"), "")
        self.assertTrue(killed)
        self.check(out)


class Slurm:
    """munge, slurmctld and slurmd on this machine, without systemd, on ports of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf"),
                            "SBATCH_OUTPUT": str(folder / "%j.out")}
        self.processes = []

    def __enter__(self):
        folder, host = self.folder, socket.gethostname().split(".")[0]
        (folder / "state").mkdir(parents=True)
        folder.chmod(0o755)
        folder.parent.chmod(0o755)  # munge wants to know who may write there
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        ports = free_ports(2)
        (folder / "slurm.conf").write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
""")
        self.start("munged", "--foreground", "--force", f"--key-file={key}", "--num-threads=2",
                   f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid",
                   f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed")
        wait_for(lambda: (folder / "munge.socket").exists())
        self.start("slurmctld", "-D", "-f", folder / "slurm.conf")
        self.start("slurmd", "-D", "-f", folder / "slurm.conf")
        wait_for(lambda: "idle" in self.run("sinfo", "-h", "-o", "%T"))
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=30)

    def start(self, name, *arguments):
        program = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        with open(self.folder / f"{name}.out", "w") as log:
            self.processes.append(subprocess.Popen([program, *map(str, arguments)], stdout=log,
                                                   stderr=log, env=os.environ | self.environment))

    def run(self, *command) -> str:
        return subprocess.run(command, env=os.environ | self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout

    def queue(self) -> str:
        return self.run("squeue") + "".join(path.read_text(errors="replace")
                                            for path in self.folder.glob("*.out"))

    def wait_until_idle(self, deadline):
        while self.run("squeue", "-h") and time.monotonic() < deadline:
            time.sleep(0.2)


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it does not start")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
