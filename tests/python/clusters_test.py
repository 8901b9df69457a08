#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dask, Spark and Ray on this machine, several processes each, give the bits of one process, also when
one of them is killed: clusters_test.py BUILD_DIR. Runs in build/clusters, where tools/cluster/setup
installs them; what is missing is skipped, but with BERT_INFER_REQUIRE_CLUSTER."""
import importlib.util
import os
import signal
import sys
import threading
import time
import unittest
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / "build" / "clusters"

if __name__ == "__main__":  # Dask's processes import this file, with the first one's sys.path
    if Path(sys.prefix) != INSTALLED and (INSTALLED / "installed").exists():
        os.execv(INSTALLED / "bin" / "python", [str(INSTALLED / "bin" / "python"), *sys.argv])
    BUILD = Path(sys.argv.pop(1)).resolve()
    sys.path[:0] = [str(BUILD / "python"), str(ROOT / "tests" / "tools")]
    os.environ["PYTHONPATH"] = str(BUILD / "python")  # of the processes that they start
    os.environ["BERT_INFER_TEST"] = str(uuid.uuid4())  # by which kill_one() knows them


def missing(*packages: str) -> str:
    return next((name for name in packages if importlib.util.find_spec(name) is None), "")


def needs(*packages: str):
    found = missing(*packages)
    if found and os.environ.get("BERT_INFER_REQUIRE_CLUSTER"):
        raise RuntimeError(f"there is no {found}: tools/cluster/setup installs it")
    return unittest.skipIf(found, f"there is no {found}")


if not os.environ.get("BERT_INFER_REQUIRE_CLUSTER") and (
        missing("numpy") or all(missing(name) for name in ("distributed", "pyspark", "ray"))):
    print("skipped: there is none of distributed, pyspark and ray")
    sys.exit(77)

import numpy as np  # noqa: E402
from bert_infer import CrossEncoder, SentenceTransformer  # noqa: E402
from command_line import ToolTest, main  # noqa: E402

TEXTS = [f"a man {i} plays the guitar " * (i % 7) + f"two dogs {i}" for i in range(2500)]
PAIRS = list(zip(TEXTS, reversed(TEXTS)))
COLUMNS = {"id": range(len(PAIRS)), "first": TEXTS, "second": TEXTS[::-1]}


def workers() -> list[int]:
    """The processes that this one has started, directly or not, and that have loaded the library."""
    found, mark = [], f"BERT_INFER_TEST={os.environ['BERT_INFER_TEST']}"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (int(process.name) != os.getpid()
                    and mark in (process / "environ").read_text()
                    and "/bert_infer/_core." in (process / "maps").read_text()):
                found.append(int(process.name))
        except (OSError, UnicodeDecodeError):  # it has ended, or is somebody else's
            pass
    return found


class KillOne(threading.Thread):
    """Kills a worker a moment after it has loaded the library or, where it had, after this begins."""

    def __enter__(self):
        self.killed, self.ends = [], threading.Event()
        self.start()
        return self.killed

    def run(self):
        while not self.ends.wait(0.02):
            if found := workers():
                time.sleep(0.3)  # for the model, and some of the work
                os.kill(found[0], signal.SIGKILL)
                self.killed.append(found[0])
                return

    def __exit__(self, *_):
        self.ends.set()
        self.join()


class Clusters(ToolTest):
    tool = "bert-infer"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.encoder = str(cls.make_model("encoder", "--head", "none"))
        cls.expected = SentenceTransformer(cls.encoder).encode(TEXTS, normalize_embeddings=True)
        # Large enough to be killed at it.
        cls.classifier = str(cls.make_model("classifier", "--labels", "3", "--shape", "4,128,4,512"))
        cls.scores = CrossEncoder(cls.classifier).predict(PAIRS)

    def check(self, answers, expected=None):
        expected = self.expected if expected is None else expected
        found = np.stack(list(answers))
        self.assertEqual((found.dtype, found.shape), (np.float32, expected.shape))
        self.assertEqual(found.tobytes(), expected.tobytes())

    @needs("distributed", "pandas")
    def test_dask(self):
        import dask.bag
        import dask.dataframe
        import pandas
        from bert_infer.dask import encode, predict
        from distributed import Client, LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=2, processes=True,
                          dashboard_address=None) as cluster, Client(cluster):
            frame = dask.dataframe.from_pandas(pandas.DataFrame(COLUMNS), npartitions=8)
            with KillOne() as killed:
                found = predict(frame, self.classifier, options={"threads": 1}).compute()
            self.assertEqual(len(killed), 1)
            self.assertEqual(found["id"].tolist(), list(COLUMNS["id"]))
            self.check(found["scores"], self.scores)
            found = encode(frame, self.encoder, "first", normalize_embeddings=True).compute()
            self.check(found["embedding"])
            bag = dask.bag.from_sequence(TEXTS, npartitions=8)
            self.check(encode(bag, self.encoder, options={"threads": 1}, normalize_embeddings=True)
                       .compute())
            bag = dask.bag.from_sequence(PAIRS[:20], npartitions=3)
            self.check(predict(bag, self.classifier).compute(), self.scores[:20])

    @needs("pyspark", "pandas", "pyarrow")
    def test_spark(self):
        from bert_infer.spark import encode, predict
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        # "local[2]" would not try a task again: the 4 are its attempts.
        session = (SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
                   .config("spark.sql.execution.arrow.maxRecordsPerBatch", "300")
                   .config("spark.driver.host", "127.0.0.1").getOrCreate())
        try:
            frame = session.createDataFrame(list(zip(*COLUMNS.values())),
                                            "id long, first string, second string").repartition(4)
            with KillOne() as killed:
                rows = predict(frame, self.classifier, options={"threads": 1}).collect()
            self.assertEqual(len(killed), 1)
            rows.sort(key=lambda row: row.id)
            self.assertEqual([(row.first, row.second) for row in rows], PAIRS)
            self.check((np.array(row.scores, np.float32) for row in rows), self.scores)
            found = encode(frame, self.encoder, "first", options={"threads": 1},
                           normalize_embeddings=True)
            self.assertRaisesRegex(ValueError, "'first' is there", encode, frame, self.encoder,
                                   to="first")
            rows = sorted(found.collect(), key=lambda row: row.id)
            self.check(np.array(row.embedding, np.float32) for row in rows)
        finally:
            session.stop()

    @needs("ray", "pandas", "pyarrow")
    def test_ray(self):
        import ray
        import ray.data
        from bert_infer.ray import encode, predict

        ray.init(num_cpus=3, include_dashboard=False, configure_logging=False)
        try:
            dataset = ray.data.from_items([dict(zip(COLUMNS, row)) for row in zip(*COLUMNS.values())])
            with KillOne() as killed:
                rows = predict(dataset, self.classifier, actors=2, batch_size=300).take_all()
            self.assertEqual(len(killed), 1)
            rows.sort(key=lambda row: row["id"])
            self.assertEqual([(row["first"], row["second"]) for row in rows], PAIRS)
            self.check((row["scores"] for row in rows), self.scores)
            found = encode(dataset, self.encoder, 2, "first", batch_size=300, normalize_embeddings=True)
            self.check(row["embedding"] for row in sorted(found.take_all(), key=lambda row: row["id"]))
        finally:
            ray.shutdown()


if __name__ == "__main__":
    sys.argv.insert(1, str(BUILD / "bin"))
    main()
