#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer's pages: attention, the embedding layer, embeddings for the projector. What they hold is
compared with what the other outputs say. Usage: infer_pages_test.py BIN_DIR [--screenshots DIR]"""
import csv
import json
import os
import re
import resource
import subprocess
import sys

import numpy as np
from reporting import HOSTILE, PageTest, main

PAIR = ["a man is playing the guitar.", "two dogs"]
LINES = [["a man is playing", "x"], ["a man plays", "x"], ["two dogs", "y"], [HOSTILE, "y"], ["the beach", ""]]


def unpacked(text: str) -> np.ndarray:
    return np.array([int(text[i:i + 2], 36) for i in range(0, len(text), 2)]) / 1000


class InferPages(PageTest):
    tool = "bert-infer"

    def make_page(self, name: str, *arguments):
        path = self.dir / f"{name}.html"
        self.assertEqual(self.succeed("--html", path, *arguments), "")
        return path, self.read_page(path)

    def lines(self):
        """All the texts, with a second one that says what kind they are."""
        return self.write("lines.jsonl", "".join(json.dumps({"first": text, "kind": kind}) + "\n" for text, kind in LINES))

    def test_attention(self):
        path, found = self.make_page("attention", "--task", "attention", *PAIR)
        row, = self.answers("--task", "attention", "--layers", "0,1", *PAIR)
        tokens, = self.answers("--task", "tokens", *PAIR)
        shown, = found["inputs"]
        self.assertEqual([[token[key] for token in shown["tokens"]] for key in ("text", "id", "segment")],
                         [tokens["tokens"], tokens["ids"], tokens["type_ids"]])
        self.assertEqual([layer["layer"] for layer in shown["layers"]], [0, 1])
        for layer in shown["layers"]:
            expected = np.array(row["attention"][str(layer["layer"])])
            values = np.array([unpacked(head).reshape(expected.shape[1:]) for head in layer["heads"]])
            np.testing.assert_allclose(values, expected, atol=0.00051)
        page = self.browse(path)
        self.assertEqual(page.count('aria-label="Head '), 2)
        self.shows(page, "Layer 0, head 0: how much")
        first = tokens["type_ids"].count(0)
        self.assertEqual(len(re.findall('<tr class="second">', page)), 1)
        self.assertEqual(len(re.findall('<button class="token s0"', page)), first)
        self.assertEqual(len(re.findall('<button class="token s1"', page)), len(tokens["ids"]) - first)
        self.assertEqual(len(re.findall("<th scope=\"row\">Layer . head .</th>", page.replace(",", ""))), 4)

    def test_attention_of_some_layers_and_inputs(self):
        path, found = self.make_page("some", "--task", "attention", "--layers", "-1", "-i", self.texts())
        self.assertEqual([one["index"] for one in found["inputs"]], list(range(len(LINES))))
        self.assertEqual([layer["layer"] for one in found["inputs"] for layer in one["layers"]], [1] * len(LINES))
        page = self.browse(path)
        self.assertEqual(page.count("<option value="), len(LINES) + 1)

    def texts(self):
        return self.write("texts.txt", "".join(text + "\n" for text, _ in LINES))

    def test_a_long_text_is_a_picture(self):
        path, found = self.make_page("long", "--task", "attention", "a " * 100)
        self.assertTrue(found["inputs"][0]["truncated"])
        longer = self.make_model("longer", "--positions", "128")
        path, _ = self.make_page("longer", "-m", longer, "--task", "attention", "a " * 100)
        page = self.browse(path)
        self.assertNotIn('class="heat"', page)
        self.shows(page, 'role="img" aria-label="Layer 0, head 0')

    def test_where_attention_goes(self):
        """Also over many tokens, of which each gets so little that its rounding would count."""
        model = self.make_model("even", "--positions", "1024", "--scale", "0.02")
        pair = ["a man " * 200, "two dogs " * 100]
        path, found = self.make_page("even", "-m", model, "--task", "attention", *pair)
        row, = self.answers("-m", model, "--task", "attention", "--layers", "0,1", *pair)
        segments = np.array([token["segment"] for token in found["inputs"][0]["tokens"]])
        others = segments[:, None] != segments
        self.assertEqual(len(segments), 603)
        page = self.browse(path)
        for layer, one in enumerate(found["inputs"][0]["layers"]):
            for head, sums in enumerate(one["sums"]):
                values = np.array(row["attention"][str(layer)][head])
                expected = [values[others].sum(), values.trace(), values[:, 0].sum(), values[:, -1].sum()]
                shares = [sums[key] for key in ("other", "self", "first", "last")]
                np.testing.assert_allclose(shares, np.array(expected) / 603, rtol=1e-3)
                cells = "".join(f'<td class="number">{100 * share:.1f}</td>' for share in shares)
                self.shows(page, f'<th scope="row">Layer {layer}, head {head}</th>{cells}')

    def test_the_embedding_layer(self):
        path, found = self.make_page("embedding", "--task", "hidden", "--layers", "0", *PAIR)
        row, = self.answers("--task", "hidden", "--layers", "0", *PAIR)
        shown, = found["inputs"]
        np.testing.assert_allclose(np.array(shown["normed"]), np.array(row["layers"]["0"]), atol=1e-3)
        segments = np.array([shown["segments"][str(token["segment"])] for token in shown["tokens"]])
        rows = np.array(shown["word"]) + np.array(shown["position"]) + segments
        rows -= rows.mean(axis=1, keepdims=True)
        rows /= np.sqrt(rows.var(axis=1, keepdims=True) + 1e-12)
        # LayerNorm's weight and bias are the same for all tokens: a straight line in each column.
        for column in range(rows.shape[1]):
            line = np.polyfit(rows[:, column], np.array(shown["normed"])[:, column], 1)
            np.testing.assert_allclose(np.polyval(line, rows[:, column]), np.array(shown["normed"])[:, column], atol=5e-3)
        positions = found["positions"]
        self.assertEqual((positions["kind"], positions["count"], positions["step"]), ("learned", 64, 1))
        cosines = 2 * unpacked(positions["similarities"]) - 1
        self.assertEqual(len(cosines), 64 * 65 // 2)
        table = np.array(shown["position"])
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        np.testing.assert_allclose(cosines[:len(table)], (unit @ unit.T)[0], atol=3e-3)
        page = self.browse(path)
        for text in ("<figcaption>token", "<figcaption>+ position", "<figcaption>+ segment", "<figcaption>= sum",
                     "<figcaption>LayerNorm of the sum", "64 positions, learned"):
            self.shows(page, text)
        self.assertIn('class="token s1"', page)

    def test_other_positions(self):
        for options, kind, seen in (
                (("--family", "distilbert", "--position-type", "sinusoidal"), "sinusoidal", "64 positions, sinusoidal"),
                (("--family", "modernbert"), "rotary", "its positions are rotary")):
            with self.subTest(kind):
                model = self.make_model(kind, "--head", "none", *options)
                path, found = self.make_page(f"positions_{kind}", "-m", model, "--task", "hidden", "--layers", "0", "a man")
                self.assertEqual(found["positions"]["kind"], kind)
                self.assertEqual("similarities" in found["positions"], kind == "sinusoidal")
                self.assertIsNone(found["inputs"][0]["segments"])
                self.shows(self.browse(path), seen)

    def test_ids_without_a_token(self):
        model = self.make_model("no_vocabulary", "--head", "none")
        (model / "vocab.txt").unlink()
        ids = self.write("ids.jsonl", '{"ids": [2, 80, 3]}\n')
        for task in ["attention"], ["hidden", "--layers", "0"]:
            _, found = self.make_page("numbers", "-m", model, "-i", ids, "--task", *task)
            self.assertEqual(found["inputs"][0]["text"], "")
            self.assertEqual([token["text"] for token in found["inputs"][0]["tokens"]], ["2", "80", "3"])

    def test_the_projector(self):
        folder = self.dir / "projector"
        self.succeed("--task", "embed", "-i", self.lines(), "--keep", "kind", "--projector", folder)
        rows = self.answers("--task", "embed", "-i", self.texts())
        expected = np.array([row["embedding"] for row in rows])
        vectors = np.loadtxt(folder / "vectors.tsv", delimiter="\t")
        np.testing.assert_array_equal(vectors.astype(np.float32), expected.astype(np.float32))
        with open(folder / "metadata.tsv", newline="", encoding="utf-8") as file:
            table = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        self.assertEqual(table[0], ["index", "text", "kind"])
        self.assertEqual([row[2] for row in table[1:]], [kind for _, kind in LINES])
        self.assertEqual(table[1], ["0", "a man is playing", "x"])
        found = self.read_page(folder / "index.html")
        centred = expected - expected.mean(axis=0)
        _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
        np.testing.assert_allclose(found["shares"], (sizes**2 / (sizes**2).sum())[:3], atol=1e-3)
        at = np.array([point["at"] for point in found["points"]])
        np.testing.assert_allclose(abs(at), abs(centred @ directions[:3].T), atol=1e-2 * sizes[0])
        unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
        for i, point in enumerate(found["points"]):
            order = [int(j) for j in np.argsort(-(unit @ unit[i])) if j != i]
            self.assertEqual([index for index, _ in point["near"]], order)
            np.testing.assert_allclose([cosine for _, cosine in point["near"]], (unit @ unit[i])[order], atol=6e-5)
        page = self.browse(folder / "index.html")
        self.shows(page, "Nearest to “a man is playing”, by cosine")
        self.shows(page, "of the variance")
        self.assertEqual(page.count("<title>a man"), 2)

    def test_the_projector_shows_values_as_they_are_spelled(self):
        folder, deep = self.dir / "kept", "[" * 200000 + "]" * 200000
        values = ["12345678901234567890123", "1E5", "-0", "null", '[{"a, b": "\\"]: "}, 1]', deep]
        lines = [f'{{"id": "{i}: \\",", "a \\"": {value}, "first": "a"}}' for i, value in enumerate(values)]
        self.succeed("--task", "embed", "-i", self.write("kept.jsonl", "\n".join(lines)), "--keep", 'a ",id,none',
                     "--projector", folder)
        rows = [row.split("\t") for row in (folder / "metadata.tsv").read_text().splitlines()]
        self.assertEqual(rows, [["index", "text", 'a "', "id", "none"], *(
            [str(i), "a", value, f'{i}: ",', ""] for i, value in enumerate(values))])

    def test_a_full_disk_leaves_no_scraps_of_the_projector(self):
        folder = self.dir / "full"
        self.fail_with(1, "vectors.tsv: cannot be written: File too large", "--task", "embed", "-i", self.texts(),
                       "--projector", folder,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)))
        self.assertEqual(list(folder.iterdir()), [])

    def test_without_a_browser_it_counts_as_skipped(self):
        environment = os.environ | {"PATH": "", "BERT_INFER_REQUIRE_BROWSER": ""}
        done = subprocess.run([sys.executable, __file__, self.bin, "InferPages.test_a_long_text_is_a_picture"],
                              env=environment, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 77, done.stderr)

    def test_what_it_refuses(self):
        path = self.dir / "refused.html"
        for arguments, code, pattern in [
            (["--html", path, "--task", "hidden", "a"], 2, "--html goes with --task attention, and with --task hidden --layers 0"),
            (["--html", path, "--task", "hidden", "--layers", "1", "a"], 2, "--html goes with"),
            (["--html", path, "a"], 2, "--html goes with"),
            (["--html", path, "-o", "x.jsonl", "--task", "attention", "a"], 2, "--html"),
            (["--html", path, "--output-format", "jsonl", "--task", "attention", "a"], 2, "--output-format goes with neither"),
            (["--projector", self.dir / "p", "--task", "logits", "a"], 2, "--projector goes with --task embed, not with logits"),
            (["--projector", self.dir / "p", "a"], 2, "--projector goes with --task embed, not with logits"),
            (["--html", path, "--task", "attention", "-i", self.write("many.txt", "a\n" * 101)], 1, "at most 100 inputs"),
            (["--html", path, "--resume", "--task", "attention", "-i", self.texts()], 2, "--resume needs"),
            (["--projector", "/dev/null/p", "--task", "embed", "a"], 1, "/dev/null/p: cannot be created: Not a directory"),
            (["--task", "attention", "a"], 2, "--task attention needs --layers"),
        ]:
            with self.subTest(pattern):
                self.fail_with(code, pattern, *arguments)
        self.assertFalse(path.exists())


if __name__ == "__main__":
    main()
