#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bert-infer's tasks on the command line. Usage: tasks_test.py BIN_DIR

tests/models/ tests what the tasks compute, this file their options and output.
"""
import json
import math
import os
import re
import resource
import time
from pathlib import Path

import numpy as np

from inferring import InferTest, floats, main
from tensor_file import TensorFile, write_tensors

WORDS = "a man is playing the guitar and two dogs eat on the beach".split()


class Tasks(InferTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        labels = ("--labels", "3", "--label-names", "O,B-WHO,I-WHO")
        cls.mlm = cls.make_model("mlm", "--head", "mlm")
        cls.tokens = cls.make_model("tokens", "--head", "tokens", *labels)
        cls.qa = cls.make_model("qa", "--head", "qa")
        cls.choice = cls.make_model("choice", "--head", "choice")
        cls.encoder = cls.make_model("encoder", "--head", "none")

    def test_options_of_other_tasks_are_refused(self):
        for option, tasks, others in [("--top-k", "logits, sparse, fill-mask, answer, zero-shot, rank or search", ["auto", "embed"]),
                                      ("--role", "multi-vector", ["embed", "similarity"]),
                                      ("--stride", "tag or answer", ["auto", "similarity"]),
                                      ("--aggregation", "tag", ["auto", "answer"]),
                                      ("--answer-tokens", "answer", ["auto", "tokens"]),
                                      ("--layers", "hidden or attention", ["auto", "embed"])]:
            for other in others:
                value = {"--aggregation": "max", "--role": "query"}.get(option, "3")
                self.fail_with(2, f"{option} goes with --task {tasks}, not with ", "-m", self.encoder,
                               "--task", other, option, value, "a man", "a dog")
        self.fail_with(2, "--stride goes with", "-m", self.mlm, "--stride", "3", "a [MASK]")
        self.fail_with(2, "40 texts are given, expected at most 32", *["a"] * 40)
        self.fail_with(2, "--task attention needs --layers", "--task", "attention", "a")

    def test_fill_mask(self):
        [answer] = self.answers("-m", self.mlm, "--top-k", "3", "-o", "-", "a [MASK] is [MASK]")
        self.assertEqual(list(answer), ["index", "masks", "tokens", "truncated"])
        self.assertEqual([mask["token"] for mask in answer["masks"]], [2, 4])
        [logits] = self.answers("-m", self.mlm, "--task", "logits", "-o", "-", "a [MASK] is [MASK]")
        for mask in answer["masks"]:
            scores = np.exp(floats(logits["logits"][mask["token"]]).astype(np.float64))
            scores /= scores.sum()
            best = np.argsort(-scores)[:3]
            self.assertEqual([fill["id"] for fill in mask["fills"]], best.tolist())
            np.testing.assert_allclose([fill["probability"] for fill in mask["fills"]],
                                       scores[best], rtol=1e-5)
        self.assertEqual(self.text("-m", self.mlm, "a [MASK] is [MASK]").count("\n"), 2)
        self.assertIn("no mask", self.text("-m", self.mlm, "a man"))
        ids = [token for token in range(10, 14)]
        [answer] = self.answers("-m", self.mlm, "--input-format", "jsonl",
                                stdin=json.dumps({"ids": ids}))
        self.assertEqual(answer["masks"], [])
        done = self.fail_with(1, r'<stdin>:1: "ids" holds 4 ids, expected at most 3', "-m", self.mlm,
                              "--max-length", "3", "--input-format", "jsonl",
                              stdin=json.dumps({"ids": ids}))
        self.assertEqual(done.stdout, "")

    def test_masks_share_one_product_with_the_vocabulary(self):
        model = self.make_model("wide", "--head", "mlm", "--shape", "1,256,1,64", "--vocab", "60000")

        def seconds(masks: int, lines: int) -> float:
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            done = self.run_tool("-m", model, "--input-format", "jsonl", "--top-k", "1",
                                 stdin=(json.dumps({"first": "[MASK] " * masks}) + "\n") * lines)
            self.assertEqual(done.stdout.count('"token":'), 2 * masks * lines, done.stderr)
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

        table, before = np.ones((60000, 256), np.float32), time.process_time()
        for _ in range(5):
            np.copyto(np.empty_like(table), table)
        copy = (time.process_time() - before) / 5
        # Once, the table was packed for each of the 300 masks, 2.5 times the time of a copy: 750
        # copies. It takes 30 to 40 now, and 190 with the address sanitizer.
        self.assertLess(seconds(30, 10) - seconds(1, 1), 400 * copy)

    def test_tag(self):
        text = "the man, a boy é eats"
        [answer] = self.answers("-m", self.tokens, "-o", "-", text)
        for word in answer["words"] + answer["entities"]:
            self.assertEqual(text[word["begin"]:word["end"]], word["string"])
        self.assertEqual([word["string"] for word in answer["words"]],
                         re.findall(r"\w+|[^\w\s]", text))
        self.assertLessEqual({word["label"] for word in answer["words"]}, {"O", "B-WHO", "I-WHO"})
        self.assertLessEqual({entity["label"] for entity in answer["entities"]}, {"WHO"})
        named = [word for word in answer["words"] if word["label"] != "O"]
        self.assertEqual(bool(named), bool(answer["entities"]))
        [pieces] = self.answers("-m", self.tokens, "--aggregation", "none", "-o", "-", text)
        self.assertGreater(len(pieces["words"]), len(answer["words"]))
        [windows] = self.answers("-m", self.tokens, "--stride", "4", "-o", "-", "the man eats " * 90)
        self.assertGreater(windows["windows"], 1)
        self.assertEqual(len(windows["words"]), 270)
        self.fail_with(2, "--aggregation: most not in", "-m", self.tokens, "--aggregation", "most", "a")

    def test_answer_reads_a_text_of_any_length(self):
        rng = np.random.default_rng(5)
        words = [str(word) for word in rng.choice(WORDS, 2000)]
        text = " ".join(words)
        path = self.write("qa.jsonl", json.dumps({"first": "who eats", "second": text}))
        [answer] = self.answers("-m", self.qa, "-i", path)
        self.assertEqual(text[answer["begin"]:answer["end"]], answer["answer"])
        question, whole = (len(tokens["ids"]) - 2 for tokens in self.answers(
            "-m", self.qa, "--task", "tokens", "--max-length", "100000",
            stdin=f"who eats\n{text}"))
        room = 64 - 3 - question
        overlap = room // 2
        self.assertEqual(answer["windows"], 1 + math.ceil((whole - room) / (room - overlap)))
        self.assertGreater(answer["score"], 0)
        [other] = self.answers("-m", self.qa, "-i", path, "--stride", "0")
        self.assertEqual(other["windows"], math.ceil(whole / room))
        [single] = self.answers("-m", self.qa, "-i", path, "--answer-tokens", "1")
        self.assertIn(single["answer"], WORDS)
        self.assertRegex(self.text("-m", self.qa, "who eats", "two dogs eat"),
                         r"\(no answer: 0\.\d+; characters \d+ to \d+\)")
        [several] = self.answers("-m", self.qa, "-i", path, "--top-k", "4")
        self.assertEqual(len(several["others"]), 3)
        scores = [span["score"] for span in (several, *several["others"])]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual(len({span["answer"].lower() for span in (several, *several["others"])}), 4)
        for span in several["others"]:
            self.assertEqual(text[span["begin"]:span["end"]], span["answer"])
        self.assertEqual(self.answers("-m", self.qa, "--top-k", "1", "-i", path), [{**answer, "others": []}])
        self.assertRegex(self.text("-m", self.qa, "--top-k", "2", "who eats", "two dogs eat"),
                         r"\n.+  0\.\d{4}  \(characters \d+ to \d+\)\n$")
        self.fail_with(1, "leaves no room", "-m", self.qa, "who " * 70, "a man")
        # Of 64 tokens, an eighth, unless the whole text fits.
        self.fail_with(1, "no room for 8 of the second in an input of at most 64", "-m", self.qa, "a " * 58, "a " * 20)
        self.answers("-m", self.qa, "a " * 58, "a a")
        self.fail_with(1, "one text, expected two", "-m", self.qa, "who")

    def test_choose(self):
        choices = ["plays music", "eats", "is on the beach"]
        [answer] = self.answers("-m", self.choice, "-o", "-", "a man", *choices)
        pairs = self.answers("-m", self.choice, "--task", "logits",
                             stdin="".join(f"a man\t{choice}\n" for choice in choices))
        logits = floats([pair["logits"][0] for pair in pairs])
        np.testing.assert_array_equal(floats(answer["logits"]), logits)
        self.assertEqual(answer["string"], choices[int(np.argmax(logits))])
        self.assertAlmostEqual(sum(answer["probabilities"]), 1, 5)
        lines = "a man\t" + "\t".join(choices) + "\nthe dog\teats\n"
        self.assertEqual(self.answers("-m", self.choice, stdin=lines)[0], answer)
        line = json.dumps({"first": "a man", "choices": choices})
        self.assertEqual(self.answers("-m", self.choice, "--input-format", "jsonl", stdin=line),
                         [answer])
        done = self.fail_with(1, "<stdin>:2: there are no choices", "-m", self.choice,
                              stdin=lines.splitlines()[0] + "\nalone\n")
        self.assertEqual(len(done.stdout.splitlines()), 1)
        for bad, reason in [
            ("", "the line is empty"), ("{", "not JSON at byte 1"),
            ("[1]", "found an array, expected a JSON object"),
            ('{"choices": ["x"]}', '"first" is not given'),
            ('{"first": "a"}', '"choices" is not given'),
            ('{"first": "a", "choices": []}', "there are no choices"),
            ('{"first": "a", "choices": "x"}', '"choices" is a string, expected an array of strings'),
            ('{"first": "a", "choices": ["x", 1]}', '"choices" holds 1, expected strings'),
            ('{"first": "a", "choices": [["x"]]}', '"choices" holds an array, expected strings'),
            ('{"first": ["a"], "choices": ["x"]}', '"first" is an array, expected a string'),
            ('{"first": "a", "choices": ["x"], "choices": ["y"]}', '"choices" is given twice'),
            ('{"first": "a", "second": "b"}', 'unknown key "second", expected first or choices'),
        ]:
            with self.subTest(bad):
                self.fail_with(1, f"<stdin>:2: {re.escape(reason)}", "-m", self.choice,
                               "--input-format", "jsonl", stdin=f"{line}\n{bad}\n{line}\n")

    def test_similarity(self):
        [same] = self.answers("-m", self.encoder, "--task", "similarity", "-o", "-", "a man",
                              "a man")
        self.assertAlmostEqual(same["similarity"], 1, 6)
        texts = ["a man plays", "two dogs"]
        a, b = (floats(answer["embedding"]).astype(np.float64)
                for answer in self.answers("-m", self.encoder, stdin="\n".join(texts)))
        [answer] = self.answers("-m", self.encoder, "--task", "similarity", "-o", "-", *texts)
        self.assertAlmostEqual(answer["similarity"],
                               a @ b / np.linalg.norm(a) / np.linalg.norm(b), 6)

    def test_layers_and_attention(self):
        [answer] = self.answers("--task", "hidden", "--layers", "0,-1,2", "-o", "-", "a man")
        [last] = self.answers("--task", "hidden", "-o", "-", "a man")
        self.assertEqual(list(answer["layers"]), ["0", "-1", "2"])
        self.assertEqual(answer["layers"]["-1"], last["hidden"])
        self.assertEqual(answer["layers"]["2"], last["hidden"])
        [answer] = self.answers("--task", "attention", "--layers", "-1,0", "-o", "-", "a man")
        for heads in answer["attention"].values():
            self.assertEqual(np.shape(heads), (2, 4, 4))
            np.testing.assert_allclose(np.sum(heads, axis=2), 1, atol=1e-5)
        self.fail_with(1, "layer 3 of the hidden states", "--task", "hidden", "--layers", "3", "a")
        self.fail_with(2, "needs --layers", "--task", "attention", "a")
        for layers in "0,,1", "0,", ",0", "0 1", "1.5", "99999999999":
            self.fail_with(2, f"--layers {layers}: expected whole numbers", "--task", "hidden",
                           "--layers", layers, "a")
        self.fail_with(2, "--layers goes with", "--task", "embed", "--layers", "1", "a")
        self.fail_with(2, "cannot hold", "--task", "hidden", "--layers", "1", "-o",
                       self.dir / "x.safetensors", "a")

    def test_prompts(self):
        model = self.make_model("prompts", "--head", "none")
        (model / "config_sentence_transformers.json").write_text(
            json.dumps({"prompts": {"query": "the man: ", "text": ""}}))
        [with_prompt] = self.answers("-m", model, "--prompt", "query", "-o", "-", "a dog")
        [whole] = self.answers("-m", model, "-o", "-", "the man: a dog")
        self.assertEqual(with_prompt, whole)
        self.fail_with(1, "'prompts' has no 'x', expected one of query, text", "-m", model,
                       "--prompt", "x", "a")

    def test_a_task_that_the_head_is_not_for_is_refused(self):
        for task in ("fill-mask", "tag", "answer", "choose"):
            self.fail_with(1, f"has no head for --task {task}, but one for --task logits",
                           "--task", task, "a", "b")
        self.fail_with(1, "this task needs text", "-m", self.tokens, "--input-format", "jsonl",
                       stdin='{"ids": [5, 6]}')
        self.fail_with(2, "cannot hold", "-m", self.mlm, "-o", self.dir / "x.npy", "a")
        self.fail_with(2, "cannot hold the answers of --task logits by a head for tokens", "-m", self.tokens, "--task",
                       "logits", "-o", self.dir / "x.safetensors", "a")


class Directories(InferTest):
    def with_architectures(self, name: str, value, *options: str):
        model = self.make_model(name, *options)
        config = json.loads((model / "config.json").read_text())
        config["architectures"] = value
        (model / "config.json").write_text(json.dumps(config))
        return model

    def test_a_head_of_which_there_is_nothing_is_left_out(self):
        model = self.with_architectures("headless", ["BertForMaskedLM"], "--head", "none")
        done = self.run_tool("-m", model, "-o", "-", "a man")
        self.assertIn("BertForMaskedLM has no tensors of its head", done.stderr)
        self.assertIn("embedding", json.loads(done.stdout))
        model = self.with_architectures("missing", ["BertForTokenClassification"], "--head", "none")
        self.fail_with(1, "'classifier.weight' is missing", "-m", model, "a man")

    def test_roberta_is_xlm_roberta_by_another_name(self):
        for head in ("none", "classification", "tokens", "qa", "choice", "mlm"):
            model = self.make_model(f"roberta-{head}", "--family", "xlm-roberta", "--head", head)
            task = "hidden" if head == "none" else "logits"
            ids = json.dumps({"ids": [0, 9, 14, 1, 23, 2]})
            ask = ("-m", model, "--task", task, "--input-format", "jsonl")
            expected = self.answers(*ask, stdin=ids)
            path = model / "config.json"
            path.write_text(path.read_text().replace("XLMRoberta", "Roberta")
                            .replace('"xlm-roberta"', '"roberta"'))
            self.assertEqual(self.answers(*ask, stdin=ids), expected, head)

    def test_what_is_not_supported_is_refused_by_name(self):
        for kind in ("big_bird", "xlnet"):
            model = self.make_model(kind, "--head", "none")
            path = model / "config.json"
            path.write_text(path.read_text().replace('"bert"', f'"{kind}"'))
            self.fail_with(1, f'model_type: found "{kind}", expected one of albert, bart, bert, ',
                           "-m", model, "a")
        model = self.make_model("bpe", "--family", "xlm-roberta", "--head", "none")
        path = model / "tokenizer.json"
        content = json.loads(path.read_text())
        content["model"]["type"] = "Char"
        path.write_text(json.dumps(content))
        done = self.fail_with(1, 'tokenizer.json: model.type: found "Char"', "-m", model, "a")
        self.assertEqual(done.stderr.count("Char"), 1)  # not in a note too

    def test_sinusoidal_positions_need_not_be_stored(self):
        model = self.make_model("sines", "--family", "distilbert", "--position-type", "sinusoidal",
                                "--head", "none")
        before = self.answers("-m", model, "-o", "-", "a man plays")
        file = TensorFile(model / "model.safetensors")
        tensors = {name: np.array(file.read(name)) for name in file.entries}
        del tensors["embeddings.position_embeddings.weight"]
        write_tensors(model / "model.safetensors", tensors, {"format": "pt"})
        after = self.answers("-m", model, "-o", "-", "a man plays")
        np.testing.assert_allclose(after[0]["embedding"], before[0]["embedding"], atol=1e-5)

    def test_an_architecture_that_is_not_named_is_that_of_the_weights(self):
        model = self.with_architectures("unnamed", None, "--head", "mlm")
        done = self.run_tool("-m", model, "-o", "-", "a [MASK]")
        self.assertIn('its tensors are those of "BertForMaskedLM"', done.stderr)
        self.assertIn("masks", json.loads(done.stdout))
        model = self.with_architectures("ambiguous", None)
        self.fail_with(1, '"architectures" is missing', "-m", model, "a man")

    def test_bf16_is_advised_only_where_it_is_faster(self):
        note = re.compile(r"the weights are stored in BF16; precision auto is f32, which is exact; "
                          r"bf16 would be ([\d.]+) times as fast")
        stored = self.make_model("stored in bf16", "--dtype", "BF16")
        for isa in "DEFAULT", "AVX2", "SSE41":
            environment = os.environ | {"ONEDNN_MAX_CPU_ISA": isa}
            speeds = note.findall(self.run_tool("-m", stored, "a", env=environment).stderr)
            if (isa == "DEFAULT" and not self.is_sanitized()
                    and re.search("avx512_bf16|amx_bf16", Path("/proc/cpuinfo").read_text())):
                for _ in range(4):  # it is measured, perhaps beside other tests
                    speeds += note.findall(self.run_tool("-m", stored, "a", env=environment).stderr)
                self.assertTrue(speeds)
            for speed in speeds:
                self.assertGreaterEqual(float(speed), 1.1, isa)
            for quiet in ["--precision", "f32"], ["--precision", "bf16"]:
                done = self.run_tool("-m", stored, *quiet, "a", env=environment)
                self.assertNotIn("times as fast", done.stderr, isa)
        self.assertNotIn("times as fast", self.run_tool("a").stderr)


if __name__ == "__main__":
    main()
