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
from decimal import Decimal
from functools import partial
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

    def check_mistakes(self, data, encode, predict):
        """Are known before a worker starts."""
        for call, arguments, message in [
                (encode, {"column": "nope"}, "no column 'nope' among .*'first'"),
                (encode, {"column": "first", "to": "id"}, "column 'id' is there already"),
                (encode, {"column": "first", "normalise": True}, r"encode\(\) .*'normalise'"),
                (encode, {"column": "first", "output_value": "token_embeddings"}, "output_value is"),
                (predict, {"convert_to_numpy": False}, "convert_to_numpy is False"),
                (predict, {"columns": "first"}, "columns is 'first', expected the names of two"),
                (predict, {"options": {"activation_fn": abs}}, r"argument of predict\(\)")]:
            with self.assertRaisesRegex((TypeError, ValueError), message):
                call(data, self.encoder, **arguments)

    @needs("distributed", "pandas")
    def test_dask(self):
        import dask.bag
        import dask.dataframe
        import pandas
        import pyarrow
        import pyarrow.parquet
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
            self.check_mistakes(frame, encode, predict)
            for other in (frame["first"], found, TEXTS):
                self.assertRaisesRegex(TypeError, "expected a dask", encode, other, self.encoder)
            few = pandas.DataFrame({"text": ["a", None, "c"]})
            few = dask.dataframe.from_pandas(few, npartitions=1)
            with self.assertRaisesRegex(ValueError, "'text' has a null in 1 of 3 rows"):
                encode(few, self.encoder).compute()
            encode(few.dropna(), self.encoder).to_parquet(
                self.dir / "dask", schema={"embedding": pyarrow.list_(pyarrow.float32())})
            saved = pyarrow.parquet.read_table(self.dir / "dask")["embedding"].to_numpy()
            self.check(saved, SentenceTransformer(self.encoder).encode(["a", "c"]))
            numbers = pandas.DataFrame({"first": ["a", "b"], "second": [3, 4]})
            with self.assertRaisesRegex(TypeError, "'second' has a value of type int in row 0 of 2, expected texts"):
                predict(dask.dataframe.from_pandas(numbers, npartitions=1), self.classifier).compute()
            bag = dask.bag.from_sequence(TEXTS, npartitions=8)
            self.check(encode(bag, self.encoder, options={"threads": 1}, normalize_embeddings=True)
                       .compute())
            bag = dask.bag.from_sequence(PAIRS[:20], npartitions=3)
            self.check(predict(bag, self.classifier).compute(), self.scores[:20])
            self.check(predict(bag, self.classifier, activation_fn=np.float64).compute(), self.scores[:20])
            with self.assertRaisesRegex(ValueError, r"the shape \[3\], expected \[3, 3\]: activation_fn"):
                predict(dask.bag.from_sequence(PAIRS[:3], npartitions=1), self.classifier,
                        activation_fn=partial(np.argmax, axis=1)).compute()
            with self.assertRaisesRegex(TypeError, "found a text, expected pairs of texts"):
                predict(dask.bag.from_sequence(TEXTS[:3], npartitions=1), self.classifier).compute()
            bag = dask.bag.from_sequence([("a", "b"), ("a", None)], npartitions=1)
            with self.assertRaisesRegex(ValueError, "the bag has a null in 1 of 2 items"):
                predict(bag, self.classifier).compute()

    @needs("pyspark", "pandas", "pyarrow")
    def test_spark(self):
        import pyarrow
        from bert_infer.spark import encode, predict, with_answers
        from bert_infer.workers import Job
        from pyspark.sql import SparkSession, types

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
            self.check_mistakes(frame, encode, predict)
            self.assertRaisesRegex(TypeError, "frame is a builtins.list, expected", encode, TEXTS, self.encoder)
            self.assertRaisesRegex(ValueError, "Spark takes 'ID' for it", encode, frame, self.encoder,
                                   "first", "ID")
            # Which pandas would change.
            frame = frame.selectExpr("*", "double('NaN') nan", "timestamp'0900-01-01 00:00:00' old",
                                     "if(id = 0, null, id + 1152921504606846976) big")
            found = encode(frame, self.encoder, "first", options={"threads": 1},
                           normalize_embeddings=True)
            rows = sorted(found.collect(), key=lambda row: row.id)
            self.check(np.array(row.embedding, np.float32) for row in rows)
            before = sorted(frame.collect(), key=lambda row: row.id)
            self.assertEqual(str([tuple(row)[:-1] for row in rows]), str([tuple(row) for row in before]))
            schema = types.StructType().add("x", "long").add("a.b", "string", True, {"m": 1}).add("x", "long")
            found = encode(session.createDataFrame([(1, "a", 2)], schema), self.encoder, "a.b")
            self.assertEqual(found.schema.fields[:-1], schema.fields)
            self.assertEqual(found.schema.fields[1].metadata, {"m": 1})
            self.assertEqual([row[:3] for row in found.collect()], [(1, "a", 2)])
            with self.assertRaisesRegex(ValueError, "'text' has a null in 1 of 2 rows"):
                with_answers(pyarrow.RecordBatch.from_pydict({"text": ["a", None]}),
                             Job.encode(self.encoder, "text", "embedding", None, {}))
        finally:
            session.stop()

    @needs("ray", "pandas", "pyarrow")
    def test_ray(self):
        import pyarrow
        import ray
        import ray.data
        from bert_infer.ray import Worker, encode, predict
        from bert_infer.workers import Job

        ray.init(num_cpus=3, include_dashboard=False, configure_logging=False)
        try:
            dataset = ray.data.from_items([dict(zip(COLUMNS, row)) for row in zip(*COLUMNS.values())])
            with KillOne() as killed:
                rows = predict(dataset, self.classifier, actors=2, batch_size=300).take_all()
            self.assertEqual(len(killed), 1)
            rows.sort(key=lambda row: row["id"])
            self.assertEqual([(row["first"], row["second"]) for row in rows], PAIRS)
            self.check((row["scores"] for row in rows), self.scores)
            self.check_mistakes(dataset, partial(encode, actors=1), partial(predict, actors=1))
            self.assertRaisesRegex(TypeError, "is a builtins.list, expected", encode, TEXTS, self.encoder, 1)
            # Which NumPy would change.
            others = {"big": [None, *(2**60 + i for i in range(1, len(PAIRS)))],
                      "price": [Decimal("1.20"), None] * (len(PAIRS) // 2),
                      "list": [[1, None], []] * (len(PAIRS) // 2)}
            table = pyarrow.table({"id": COLUMNS["id"], "first": TEXTS, **others})
            dataset = ray.data.from_arrow(table)
            found = encode(dataset, self.encoder, 2, "first", batch_size=300, normalize_embeddings=True)
            rows = sorted(found.take_all(), key=lambda row: row["id"])
            self.check(row.pop("embedding") for row in rows)
            self.assertEqual(rows, table.to_pylist())
            actor = Worker(Job.encode(self.encoder, "text", "embedding", None, {}))
            one_null = pyarrow.DictionaryArray.from_arrays([0, 1], ["a", None])
            for columns, message in [({"text": ["a", None]}, "'text' has a null in 1 of 2 rows"),
                                     ({"text": one_null}, "'text' has a null in 1 of 2 rows"),
                                     ({"text": [b"a"]}, "'text' has a value of type bytes in row 0 of 1"),
                                     ({"text": ["a"], "embedding": [1]}, "'embedding' is there")]:
                self.assertRaisesRegex((TypeError, ValueError), message, actor, pyarrow.table(columns))
        finally:
            ray.shutdown()


if __name__ == "__main__":
    sys.argv.insert(1, str(BUILD / "bin"))
    main()
