#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package's models, and how it is installed, beside the programs of the same build:
package_test.py BUILD_DIR"""
import contextlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from packages import BUILD, PAIRS, TEXTS, PackageTest, main, np  # makes the next ones importable

# isort: split
import bert_infer
from bert_infer import CrossEncoder, Encoding, Model, Options, SentenceTransformer, Tokenizer
from command_line import ROOT

sys.path.append(str(ROOT / "tests" / "golden"))
from span_models import write_span_model


class LowLevel(PackageTest):
    def test_logits_and_encodings(self):
        inputs = TEXTS + PAIRS
        expected = [answer["logits"] for answer in self.infer(self.model, inputs=inputs)]
        logits = self.loaded.run(inputs)
        self.assert_bits(logits, expected)
        encodings = self.loaded.tokenize(inputs)
        self.assert_bits(self.loaded.run(encodings), expected)
        self.assert_bits(self.loaded.run([Encoding(e.ids, e.type_ids.tolist()) for e in encodings]),
                         expected)
        self.assert_bits(self.loaded.run(iter(inputs)), expected)
        for answer, encoding in zip(self.infer(self.model, "--task", "tokens", inputs=inputs),
                                    encodings):
            self.assertEqual(answer["ids"], encoding.ids.tolist())
            self.assertEqual(answer["type_ids"], encoding.type_ids.tolist())
            self.assertEqual(answer["offsets"], encoding.offsets.tolist())
            self.assertEqual(answer["truncated"], encoding.truncated)
            self.assertEqual(answer["tokens"],
                             [self.loaded.tokenizer.token(id) for id in encoding.ids])
        probabilities = self.loaded.probabilities(logits)
        self.assert_bits(probabilities.max(1),
                         [answer["probability"] for answer in self.infer(self.model, inputs=inputs)])

    def test_arrays_are_views_of_the_librarys_memory(self):
        logits = self.loaded.run(TEXTS)
        self.assertEqual((logits.dtype, logits.flags.owndata, logits.flags.writeable),
                         (np.float32, False, True))
        self.assertTrue(logits.flags.c_contiguous)
        ids = self.loaded.tokenize(["a man"])[0].ids  # keeps its encoding alive
        self.assertEqual((ids.dtype, ids.flags.writeable), (np.int32, False))
        self.assertEqual(len(ids), 4)
        self.assertEqual(self.loaded.run([]).shape, (0, 3))
        self.assertEqual(Model(self.encoder).embed([]).shape, (0, 16))
        self.assertEqual(Encoding([2, 3]).offsets.shape, (0, 2))

    def test_layers(self):
        model = Model(self.encoder)
        expected = self.infer(self.encoder, "--task", "hidden", "--layers", "0,-1", inputs=TEXTS)
        for hidden, answer in zip(model.hidden(TEXTS, [0, -1]), expected, strict=True):
            self.assert_bits(hidden.layers[0], answer["layers"]["0"])
            self.assert_bits(hidden.states, answer["layers"]["-1"])
        expected = self.infer(self.model, "--task", "hidden", inputs=TEXTS)
        for hidden, answer in zip(self.loaded.hidden(TEXTS), expected, strict=True):
            self.assert_bits(hidden.pooler, answer["pooler"])
        expected = self.infer(self.encoder, "--task", "attention", "--layers", "1", inputs=TEXTS)
        for [layer], answer in zip(model.attention(TEXTS, [1]), expected, strict=True):
            self.assert_bits(layer, answer["attention"]["1"])

    def test_vectors_for_search(self):
        splade = self.make_model("splade", "--head", "mlm", "--retrieval", "splade")
        colbert = self.make_model("colbert", "--head", "none", "--prefix", "--retrieval", "colbert")
        model = Model(splade)
        self.assertEqual((model.info.has_sparse, model.info.similarity), (True, "dot"))
        expected = self.infer(splade, "--task", "sparse", inputs=TEXTS)
        for inputs in TEXTS, model.tokenize(TEXTS):
            for found, answer in zip(model.sparse(inputs), expected, strict=True):
                of = {entry["id"]: entry["weight"] for entry in answer["sparse"]}
                self.assertEqual((found.ids.dtype, found.weights.dtype), (np.int32, np.float32))
                self.assertEqual(found.ids.tolist(), sorted(of))
                self.assert_bits(found.weights, [of[id] for id in found.ids])
        model = Model(colbert)
        self.assertEqual((model.info.token_vector, model.info.embedding), (20, 0))
        vectors = {}
        for role in "query", "document":
            expected = self.infer(colbert, "--task", "multi-vector", "--role", role, inputs=TEXTS)
            for inputs in TEXTS, model.tokenize(TEXTS, role):
                vectors[role] = model.multi_vector(inputs, role)
                for found, answer in zip(vectors[role], expected, strict=True):
                    self.assert_bits(found, answer["vectors"])
        query, document = vectors["query"][0], vectors["document"][1]
        [answer] = self.infer(colbert, "--task", "similarity", inputs=[TEXTS[:2]])
        for rows in query, np.asfortranarray(query):
            self.assert_bits(bert_infer.max_sim(rows, document), answer["similarity"])
        self.assertAlmostEqual(answer["similarity"], float((query @ document.T).max(1).sum()), places=4)
        self.assertRaisesRegex(ValueError, "role is 'both', expected query or document",
                               model.multi_vector, TEXTS, "both")
        self.assertRaisesRegex(bert_infer.Error, "gives no sparse vectors", model.sparse, TEXTS)
        self.assertRaisesRegex(bert_infer.Error, "gives no vectors of tokens", self.loaded.multi_vector,
                               TEXTS, "query")

    def test_zero_shot(self):
        model = Model(bert_infer.demo_model())
        sentences = ["It is about music.", "It is about sports."]
        found = model.zero_shot(TEXTS[:2], sentences)
        answers = self.infer(bert_infer.demo_model(), "--task", "zero-shot", "--labels", "music,sports",
                             "--hypothesis", "It is about {}.", inputs=TEXTS[:2])
        for (scores, best), answer in zip(found, answers, strict=True):
            self.assert_bits(scores[best], [label["probability"] for label in answer["labels"]])
            self.assertEqual([["music", "sports"][i] for i in best],
                             [label["label"] for label in answer["labels"]])

    def test_choices(self):
        directory = self.make_model("choice", "--head", "choice")
        choices = ["a man", "two dogs", "the beach"]
        [found] = Model(directory).choose([("the guitar", choices)])
        [answer] = self.answers("-m", directory, "-o", "-", "the guitar", *choices)
        self.assertEqual(found.index, answer["choice"])
        self.assert_bits(found.probabilities, answer["probabilities"])
        self.assert_bits(found.logits, answer["logits"])
        self.assertEqual((found.tokens, found.truncated), (answer["tokens"], answer["truncated"]))

    def test_options(self):
        int8 = Model(self.model, Options(precision="int8"), threads=1)
        self.assertEqual((int8.info.precision, int8.info.threads, int8.info.workers), ("int8", 1, 1))
        self.assert_bits(int8.run(PAIRS), [answer["logits"] for answer in self.infer(
            self.model, "--precision", "int8", inputs=PAIRS)])
        self.assertEqual(Model.load(self.model, max_length=5).tokenize(PAIRS)[0].truncated, True)
        self.assertEqual(self.loaded.info.labels, ["yes", "no", "maybe"])
        self.assertEqual(bert_infer.__version__, self.succeed("--version").split()[1])

    def test_the_defaults_are_the_programs(self):
        wide = ("--positions", "512")
        long = "a man is playing the guitar and two dogs eat on the beach " * 50
        tagger = self.make_model("tagger", "--head", "tokens", "--labels", "3", *wide)
        for given, options in (["--stride", "8", "--aggregation", "none"], ("none", 8)), ([], ()):
            [expected] = self.infer(tagger, *given, inputs=[long])
            [tags] = Model(tagger).tag([long], *options)
            for spans, others in (tags.entities, expected["entities"]), (tags.words, expected["words"]):
                self.assertEqual(
                    [(span.begin, span.end, span.string, span.label, span.text) for span in spans],
                    [(*(span[key] for key in ("begin", "end", "string", "label")), 0) for span in others])
                self.assert_bits([span.probability for span in spans], [span["probability"] for span in others])
            self.assertEqual((tags.windows, tags.tokens, tags.truncated),
                             (expected["windows"], expected["tokens"], expected["truncated"]))
        write_span_model(self.dir, "gliner")
        options = {"threshold": 0.2, "nested": True, "multi_label": True}
        [expected] = self.infer(self.dir / "gliner", "--labels", "man,dog", "--threshold", "0.2", "--nested",
                                "--multi-label", inputs=[long[:100]])
        [tags] = Model(self.dir / "gliner").tag([long[:100]], labels=["man", "dog"], **options)
        self.assertEqual([(span.string, span.label) for span in tags.entities],
                         [(span["string"], span["label"]) for span in expected["entities"]])
        self.assertGreater(len(tags.entities), 5)
        reader = self.make_model("reader", "--head", "qa", *wide)
        [expected] = self.infer(reader, "--top-k", "3", inputs=[("a man", long)])
        [answer] = Model(reader).answer([("a man", long)], top_k=3)
        self.assertEqual([(other.begin, other.end, other.string) for other in answer.others],
                         [(other["begin"], other["end"], other["answer"]) for other in expected["others"]])
        self.assertEqual(len(answer.others), 2)
        self.assertEqual((answer.string, answer.windows, answer.tokens),
                         (expected["answer"], expected["windows"], expected["tokens"]))
        self.assert_bits([answer.score, answer.no_answer], [expected["score"], expected["no_answer"]])
        [[blank]] = Model(self.make_model("mask", "--head", "mlm")).fill_mask(["a man [MASK]"])
        self.assertEqual((blank.token, len(blank.fills)), (3, 5))
        model = Model(tagger)
        for rows, answer in zip(model.run_tokens(TEXTS), self.infer(tagger, "--task", "logits", inputs=TEXTS),
                                strict=True):
            self.assert_bits(rows, answer["logits"])
        model.release_memory()
        self.assert_bits(model.run_tokens(TEXTS[:1])[0], model.run_tokens(TEXTS)[0])
        self.assertEqual(model.tokenizer.notes, [])

    def test_tokenizers(self):
        tokenizer = self.loaded.tokenizer
        [encoding] = tokenizer.encode(["a man walkqs"])
        tokens = [tokenizer.token(id) for id in encoding.ids]
        self.assertEqual([tokenizer.continues_word(id) for id in encoding.ids],
                         [token.startswith("##") for token in tokens])
        self.assertIn("##", "".join(tokens))
        self.assertEqual(tokenizer.decode(encoding.ids), "a man walkqs")
        self.assertEqual(tokenizer.decode(encoding.ids, False), "[CLS] a man walkqs [SEP]")
        self.assertEqual(tokenizer.token(tokenizer.mask_id), "[MASK]")
        shorter = Model(self.model, max_length=5).tokenizer
        for copy in shorter, pickle.loads(pickle.dumps(shorter)):
            self.assertEqual(len(copy.encode(TEXTS)[1]), 5)

    def test_directories_may_be_relative(self):
        with contextlib.chdir(self.dir):
            pickled = pickle.dumps([Model("model"), Tokenizer("model")])
        model, tokenizer = pickle.loads(pickled)
        self.assertEqual(model.directory, str(self.model))
        self.assert_bits(tokenizer.encode(TEXTS)[1].ids, model.tokenize(TEXTS)[1].ids)

    def test_errors(self):
        model = self.loaded
        missing = self.dir / "missing"
        cases = [(bert_infer.Error, "missing: not a directory", lambda: Model(missing)),
                 (bert_infer.Error, "max_length is 99", lambda: Model(self.model, max_length=99)),
                 (bert_infer.Error, "has no head for fill-mask", lambda: model.fill_mask(["a"])),
                 (bert_infer.Error, r"ids\[1\] is 9999", lambda: model.run([Encoding([2, 9999])])),
                 (ValueError, "precision is 'int4', expected auto, f32, bf16 or int8",
                  lambda: Model(self.model, precision="int4")),
                 (ValueError, "aggregation is 'last'", lambda: model.tag(["a"], "last")),
                 (TypeError, "^aggregation: found NoneType, expected a str$",
                  lambda: model.tag(["a"], None)),
                 (TypeError, "^k: found float, expected an int of 32 bits$",
                  lambda: model.fill_mask(["a"], 5.0)),
                 (TypeError, "^layers: found int, expected an int of 32 bits$",
                  lambda: model.hidden(["a"], [2**31])),
                 (TypeError, "^ids: found str, expected an int", lambda: model.tokenizer.decode("ab")),
                 (ValueError, r"^inputs\[1\]: .*surrogates", lambda: model.run(["a", ("a", "\udc80")])),
                 (TypeError, "options: found dict, expected Options",
                  lambda: Model(self.model, {"threads": 1})),
                 (ValueError, "type_ids", lambda: Encoding([1, 2], [0])),
                 (TypeError, r"^ids\[1\]: found numpy.float32, expected an int",
                  lambda: Encoding([1, np.float32(2)])),
                 (TypeError, "^ids: found one str, expected a list of ints", lambda: Encoding("ab")),
                 (TypeError, r"^type_ids\[0\]: found int, expected an int of 32 bits",
                  lambda: Encoding([1], [2**31])),
                 (TypeError, "threads: found numpy.float32",
                  lambda: Model(self.model, threads=np.float32(2))),
                 (TypeError, "unknown options spam", lambda: Model(self.model, spam=1)),
                 (TypeError, "threads: found str", lambda: Model(self.model, threads="2")),
                 (TypeError, "found one str, expected a list", lambda: model.run("a man")),
                 (TypeError, "found one dict, expected a list", lambda: model.run({"text": "a man"})),
                 (TypeError, "found one bytes, expected a list", lambda: model.tokenize(b"a man")),
                 (TypeError, "array of 1 dimensions, expected a matrix",
                  lambda: model.probabilities([1, 2, 3])),
                 (TypeError, r"inputs\[1\]: found int", lambda: model.run(["a", 3])),
                 (TypeError, r"inputs\[0\]: found tuple", lambda: model.run([("a", "b", "c")])),
                 (TypeError, "only texts or only encodings",
                  lambda: model.run(["a", Encoding([2])])),
                 (TypeError, "choices, each a text", lambda: model.choose([("a", [1])])),
                 (TypeError, r"inputs\[1\]: found str, expected a text and a list of choices",
                  lambda: model.choose([("a", ["b"]), ("a", "bc")])),
                 (TypeError, "texts: found one str, expected a list of texts",
                  lambda: model.zero_shot("text", ["a"])),
                 (TypeError, "hypotheses: found one str", lambda: model.zero_shot(["text"], "a")),
                 (TypeError, r"texts\[1\]: found int", lambda: model.zero_shot(["a", 3], ["a"])),
                 (ValueError, r"^hypotheses\[0\]: .*surr", lambda: model.zero_shot(["a"], ["\udc80"])),
                 (TypeError, "not iterable", lambda: model.run(3))]
        for kind, pattern, call in cases:
            with self.subTest(pattern), self.assertRaisesRegex(kind, pattern):
                call()
        self.assertEqual(bert_infer.Error.__module__, "bert_infer")
        members = vars(Encoding).items()
        for value in (*(getattr(bert_infer, name) for name in bert_infer.__all__),
                      *(member for name, member in members if not name.startswith("_"))):
            self.assertTrue(value.__doc__, value)

    def test_pickles_hold_the_directory_and_options(self):
        for original, call in [
                (Model(self.model, precision="int8"), lambda model: model.run(PAIRS)),
                (SentenceTransformer(self.encoder, prompts={"query": "a man "}),
                 lambda model: model.encode_query(TEXTS)),
                (CrossEncoder(self.model), lambda model: model.predict(PAIRS)),
                (self.loaded.tokenizer, lambda tokenizer: tokenizer.encode(TEXTS)[1].ids),
                (Tokenizer(self.model, 5), lambda tokenizer: tokenizer.encode(TEXTS)[1].ids)]:
            pickled = pickle.dumps(original)
            self.assertLess(len(pickled), 4000)
            self.assert_bits(call(pickle.loads(pickled)), call(original))

    def test_a_directory_s_name_need_not_be_utf_8(self):
        directory = os.fsencode(self.dir / "names") + b"\xff"
        shutil.copytree(self.model, os.fsdecode(directory))
        config = Path(os.fsdecode(directory)) / "config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), "nobody_knows": 3}))
        loaded = Model(config.parent)
        for model in loaded, pickle.loads(pickle.dumps(loaded)):
            self.assertEqual(os.path.dirname(os.fsencode(model.info.files[0])), directory)
            self.assertIn("names\\xff/config.json: ignored", "".join(model.info.notes))
            self.assert_bits(model.run(PAIRS), self.loaded.run(PAIRS))

    def test_copies_of_encodings(self):
        colbert = Model(self.make_model("late", "--head", "none", "--retrieval", "colbert", "--prefix"))
        encodings = [*colbert.tokenize(TEXTS, "query"), Encoding(id for id in (2, 3))]
        copies = pickle.loads(pickle.dumps(encodings))
        for one, other in zip(encodings, copies, strict=True):
            for name in "ids", "type_ids", "offsets":
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            for name in "truncated", "first", "second":
                self.assertEqual(getattr(one, name), getattr(other, name))
        # The tokens that none attends to are known too.
        for one, other in zip(*(colbert.multi_vector(given, "query") for given in (encodings, copies))):
            self.assert_bits(one, other)

    def test_max_sim_of_what_is_no_number(self):
        self.assertTrue(np.isnan(bert_infer.max_sim([[np.nan, 1]], [[1, 2], [0, 1]])))

    def test_other_threads_run_while_a_model_computes(self):
        model = Model(self.encoder, threads=1)
        inputs, shares = TEXTS * 100, []
        for _ in range(5):  # on a busy machine a thread may wait for other reasons too
            inputs, taken, share = self.share_of_longest_wait(model, inputs)
            self.assertGreater(taken, 0.2)
            shares.append(share)
            if share < 0.5:
                return
        self.fail(f"this thread stood still for these parts of the calls: {shares}")

    def share_of_longest_wait(self, model, inputs) -> tuple[list[str], float, float]:
        """The inputs that make a call long enough, its seconds, and for what part of them this thread
        stood still at most: all of them, if the call held the GIL."""
        times = []
        while not times or times[-1] < 0.2:
            inputs = inputs * 2
            worker = threading.Thread(
                target=lambda given=inputs: times.append(self.time_of(model.embed, given)))
            gap, last = 0.0, time.perf_counter()
            worker.start()
            while worker.is_alive():
                now = time.perf_counter()
                gap, last = max(gap, now - last), now
            worker.join()
        return inputs[:len(inputs) // 2], times[-1], gap / times[-1]

    @staticmethod
    def time_of(call, *arguments) -> float:
        begin = time.perf_counter()
        call(*arguments)
        return time.perf_counter() - begin

    def test_threads_share_a_model(self):
        expected, found = self.loaded.run(TEXTS), {}
        threads = [threading.Thread(target=lambda i=i: found.update({i: self.loaded.run(TEXTS)}))
                   for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i in range(8):
            self.assert_bits(found[i], expected)


class AtExit(PackageTest):
    def test_threads_may_compute_while_the_interpreter_exits(self):
        script = ("import sys, threading, time; from bert_infer import Model; model = Model(sys.argv[1]); "
                  "work = lambda: [model.embed(['A man plays.'] * 20) for _ in iter(int, 1)]; "
                  "[threading.Thread(target=work, daemon=True).start() for _ in range(4)]; time.sleep(0.1)")
        for _ in range(5):
            done = subprocess.run([sys.executable, "-c", script, str(self.encoder)], text=True, timeout=60,
                                  capture_output=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_settings_are_text_that_can_be_encoded(self):
        with self.assertRaisesRegex(ValueError, "^precision: cannot be encoded in UTF-8$"):
            Model(self.encoder, precision="\ud800")


class Installed(PackageTest):
    def test_an_installed_package_finds_the_demo_model(self):
        prefix = self.dir / "prefix"
        subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(prefix), "--component",
                        "python"], check=True, stdout=subprocess.DEVNULL)
        (prefix / "share/bert-infer").mkdir(parents=True)
        (prefix / "share/bert-infer/demo").symlink_to(ROOT / "models/demo")
        [package] = prefix.glob("lib/**/bert_infer/__init__.py")
        script = ("import bert_infer; [found] = bert_infer.pipeline('text-classification', "
                  "bert_infer.demo_model())('A man plays.'); print(bert_infer.__file__, found['label'])")
        done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True,
                              env={"PYTHONPATH": str(package.parents[1])}, check=True)
        self.assertRegex(done.stdout, f"^{re.escape(str(package))} (entailment|neutral|contradiction)")
        self.assertTrue((package.parent / "py.typed").exists())
        self.assertEqual({path.relative_to(package.parent) for path in package.parent.rglob("*.py*")
                          if path.name != "__pycache__" and path.suffix != ".pyc"},
                         {path.relative_to(ROOT / "tools/python/bert_infer") for path in
                          (ROOT / "tools/python/bert_infer").rglob("*.py*") if path.suffix != ".pyc"
                          and path.name != "__pycache__"})


if __name__ == "__main__":
    main()
