#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manifests for Kubernetes have the fields, of the types, that Kubernetes' API has:
manifests_test.py. Runs in build/clusters, where tools/cluster/setup installs Kubernetes'
client; without it, it is skipped."""
import importlib.util
import json
import os
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / "build" / "clusters"

if Path(sys.prefix) != INSTALLED and (INSTALLED / "installed").exists():
    os.execv(INSTALLED / "bin" / "python", [str(INSTALLED / "bin" / "python"), *sys.argv])
if importlib.util.find_spec("kubernetes") is None and not os.environ.get("BERT_INFER_REQUIRE_CLUSTER"):
    print("skipped: there is no kubernetes")
    sys.exit(77)

import yaml  # noqa: E402
from kubernetes import client  # noqa: E402


class Manifests(unittest.TestCase):
    def check_fields(self, value, kind: str, where: str):
        """Every field must be known, down to the leaves."""
        if kind.lower().startswith("list["):
            self.assertIsInstance(value, list, where)
            for i, each in enumerate(value):
                self.check_fields(each, kind[5:-1], f"{where}[{i}]")
        elif hasattr(client.models, kind):
            names = {field: name for name, field in getattr(client, kind).attribute_map.items()}
            self.assertIsInstance(value, dict, where)
            for field, inner in value.items():
                self.assertIn(field, names, where)
                self.check_fields(inner, getattr(client, kind).openapi_types[names[field]],
                                  f"{where}.{field}")
        elif kind.lower().startswith("dict"):
            self.assertIsInstance(value, dict, where)
        else:
            self.assertIsInstance(value, {"str": str, "int": int, "bool": bool}.get(kind, object), where)

    def test_manifests(self):
        for path in ("tools/serve/deploy/kubernetes.yaml", "tools/cluster/kubernetes.yaml"):
            for document in yaml.safe_load_all((ROOT / path).read_text()):
                version = document["apiVersion"].rpartition("/")[2]
                kind = version.capitalize() + document["kind"]
                with self.subTest(f"{path}: {kind}"):
                    self.check_fields(document, kind, document["kind"])
                    # A missing field is a ValueError.
                    client.ApiClient().deserialize(json.dumps(document), kind, "application/json")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
