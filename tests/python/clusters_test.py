#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dask, Spark and Ray on this machine, several processes each, give the bits of one process:
clusters_test.py BUILD_DIR. What is not installed is skipped; tools/setup does not install it."""
import importlib.util
import os
import sys
import unittest
from pathlib import Path

if __name__ == "__main__":  # Dask's processes import this file, with the first one's sys.path
    BUILD = Path(sys.argv.pop(1)).resolve()
    sys.path[:0] = [str(BUILD / "python"), str(Path(__file__).resolve().parents[1] / "tools")]
    os.environ["PYTHONPATH"] = str(BUILD / "python")  # of the processes that they start


def missing(*packages: str) -> str:
    return next((name for name in packages if importlib.util.find_spec(name) is None), "")


def needs(*packages: str):
    return unittest.skipIf(missing(*packages), f"there is no {missing(*packages)}")


if missing("numpy") or all(missing(name) for name in ("distributed", "pyspark", "ray")):
    print("skipped: there is none of distributed, pyspark and ray")
    sys.exit(77)

import numpy as np  # noqa: E402
from bert_infer import SentenceTransformer  # noqa: E402
from command_line import ToolTest, main  # noqa: E402

TEXTS = [f"a man {i} plays the guitar " * (i % 7) + f"two dogs {i}" for i in range(2500)]


class Clusters(ToolTest):
    tool = "bert-infer"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.encoder = str(cls.make_model("encoder", "--head", "none"))
        cls.expected = SentenceTransformer(cls.encoder).encode(TEXTS, normalize_embeddings=True)

    def check(self, embeddings):
        found = np.stack(list(embeddings))
        self.assertEqual((found.dtype, found.shape), (np.float32, self.expected.shape))
        self.assertEqual(found.tobytes(), self.expected.tobytes())

    @needs("distributed", "pandas")
    def test_dask(self):
        import dask.bag
        import dask.dataframe
        import pandas
        from bert_infer.dask import encode
        from distributed import Client, LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=2, processes=True,
                          dashboard_address=None) as cluster, Client(cluster):
            bag = dask.bag.from_sequence(TEXTS, npartitions=8)
            self.check(encode(bag, self.encoder, options={"threads": 1}, normalize_embeddings=True)
                       .compute())
            frame = dask.dataframe.from_pandas(
                pandas.DataFrame({"id": range(len(TEXTS)), "text": TEXTS}), npartitions=8)
            found = encode(frame, self.encoder, normalize_embeddings=True).compute()
            self.assertEqual(found["id"].tolist(), list(range(len(TEXTS))))
            self.check(found["embedding"])

    @needs("pyspark", "pandas", "pyarrow")
    def test_spark(self):
        from bert_infer.spark import encode
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        session = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
                   .config("spark.sql.execution.arrow.maxRecordsPerBatch", "300")
                   .config("spark.driver.host", "127.0.0.1").getOrCreate())
        try:
            frame = session.createDataFrame(list(enumerate(TEXTS)), "id long, text string")
            found = encode(frame.repartition(4), self.encoder, options={"threads": 1},
                           normalize_embeddings=True)
            self.assertRaisesRegex(ValueError, "'text' is there", encode, frame, self.encoder,
                                   to="text")
            rows = sorted(found.collect(), key=lambda row: row.id)
            self.assertEqual([row.text for row in rows], TEXTS)
            self.check(np.array(row.embedding, np.float32) for row in rows)
        finally:
            session.stop()

    @needs("ray", "pandas", "pyarrow")
    def test_ray(self):
        import ray
        import ray.data
        from bert_infer.ray import encode

        ray.init(num_cpus=3, include_dashboard=False, configure_logging=False)
        try:
            dataset = ray.data.from_items([{"id": i, "text": text} for i, text in enumerate(TEXTS)])
            found = encode(dataset, self.encoder, actors=2, batch_size=300, normalize_embeddings=True)
            rows = sorted(found.take_all(), key=lambda row: row["id"])
            self.assertEqual([row["text"] for row in rows], TEXTS)
            self.check(row["embedding"] for row in rows)
        finally:
            ray.shutdown()


if __name__ == "__main__":
    sys.argv.insert(1, str(BUILD / "bin"))
    main()
