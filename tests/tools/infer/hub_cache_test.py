#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Models by their names on the hub, from Hugging Face's cache. Usage: hub_cache_test.py BIN_DIR"""
import os

from inferring import InferTest, main


class HubCacheTest(InferTest):
    def test_a_model_in_the_cache_of_hugging_face(self):
        cache = self.dir / "home" / "hub"
        repository = cache / "models--some-org--its.model"
        snapshot = repository / "snapshots" / "0123abc"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text("0123abc")
        (repository / "refs" / "v1").write_text("fff")
        (repository / "refs" / "out").write_text("../snapshots/0123abc")
        snapshot.mkdir(parents=True)
        for path in self.model.iterdir():
            (snapshot / path.name).symlink_to(path)
        wanted = self.succeed("a")
        for folder in "caches", "dotted/.cache":
            (self.dir / folder).mkdir(parents=True)
            (self.dir / folder / "huggingface").symlink_to(cache.parent)
        others = {name: value for name, value in os.environ.items()
                  if not name.startswith(("HF_", "HUGGINGFACE_", "XDG_"))}
        nowhere = {"HF_HOME": "/none", "XDG_CACHE_HOME": "/none", "HOME": "/none"}
        for variables in ({"HOME": self.dir / "dotted"}, {"HOME": "/none", "XDG_CACHE_HOME": self.dir / "caches"},
                          nowhere | {"HF_HOME": cache.parent}, nowhere | {"HUGGINGFACE_HUB_CACHE": cache},
                          nowhere | {"HUGGINGFACE_HUB_CACHE": "/none", "HF_HUB_CACHE": cache}):
            environment = {"env": others | {name: str(value) for name, value in variables.items()}, "cwd": self.dir}
            for name in ("some-org/its.model", "some-org/its.model@main",
                         "some-org/its.model@0123abc"):
                done = self.run_tool("-m", name, "a", **environment)
                self.assertEqual(done.stdout, wanted, done.stderr)
                self.assertRegex(done.stderr, f"note: {name} is /.*/models--some-org--its.model/snapshots/0123abc")
        for folder in "~/hub", "$CACHES/home/hub", "${CACHES}/home/hub", "$CACHES/$no/../home/hub":
            (self.dir / "$no").mkdir(exist_ok=True)
            done = self.run_tool("-m", "some-org/its.model", "a", cwd=self.dir, env=others | {
                "HF_HUB_CACHE": folder, "HOME": str(cache.parent), "CACHES": str(self.dir)})
            self.assertEqual(done.stdout, wanted, done.stderr)
        for revision in "v1", "out":
            self.fail_with(1, f"has no snapshot of the revision {revision}", "-m", f"some-org/its.model@{revision}",
                           "a", **environment)
        for name in "some-org/other", "x", "some-org/its.model@../../snapshots/0123abc", "a/b/c":
            self.fail_with(1, f"{name}: not a directory", "-m", name, "a", **environment)
        # A directory of that name comes first.
        (self.dir / "some-org").mkdir()
        (self.dir / "some-org" / "its.model").mkdir()
        self.fail_with(1, "its.model/config.json", "-m", "some-org/its.model", "a", **environment)


if __name__ == "__main__":
    main()
