# SPDX-License-Identifier: Apache-2.0
"""bert_infer_c.h by ctypes, for tests: structs as they are declared there, answers as bert-infer's
JSON has them (their numbers as Python has them, floats being exactly the float32s)."""
import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path


class Text(Structure):
    _fields_ = [("data", c_char_p), ("size", c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.size).decode()


class Input(Structure):
    _fields_ = [("first", Text), ("second", Text)]


class Option(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Matrix(Structure):
    _fields_ = [("values", POINTER(c_float)), ("rows", c_size_t), ("columns", c_size_t)]

    def lists(self) -> list[list[float]]:
        return [self.values[i * self.columns:(i + 1) * self.columns] for i in range(self.rows)]


class Range(Structure):
    _fields_ = [("begin", c_int32), ("end", c_int32)]


class Encoding(Structure):
    _fields_ = [("ids", POINTER(c_int32)), ("type_ids", POINTER(c_int32)), ("offsets", POINTER(Range)),
                ("size", c_size_t), ("first", Range), ("second", Range), ("truncated", c_int32),
                ("unattended", c_int32)]


class SparseVector(Structure):
    _fields_ = [("ids", POINTER(c_int32)), ("weights", POINTER(c_float)), ("size", c_size_t)]


class Hidden(Structure):
    _fields_ = [("states", Matrix), ("pooler", POINTER(c_float)), ("layers", POINTER(Matrix)),
                ("layer_count", c_size_t)]


class Attention(Structure):
    _fields_ = [("layers", POINTER(Matrix)), ("layer_count", c_size_t)]


class Fill(Structure):
    _fields_ = [("token", Text), ("id", c_int32), ("probability", c_float)]


class Blank(Structure):
    _fields_ = [("fills", POINTER(Fill)), ("fill_count", c_size_t), ("token", c_int32)]


class Blanks(Structure):
    _fields_ = [("blanks", POINTER(Blank)), ("blank_count", c_size_t)]


class Span(Structure):
    _fields_ = [("string", Text), ("label", Text), ("offset", Range), ("text", c_int32),
                ("probability", c_float)]

    def values(self) -> dict:
        return {"text": self.text, "begin": self.offset.begin, "end": self.offset.end,
                "string": str(self.string), "label": str(self.label), "probability": self.probability}


class Tags(Structure):
    _fields_ = [("words", POINTER(Span)), ("word_count", c_size_t), ("entities", POINTER(Span)),
                ("entity_count", c_size_t), ("windows", c_int32), ("tokens", c_int32),
                ("truncated", c_int32)]


class AnswerSpan(Structure):
    _fields_ = [("string", Text), ("offset", Range), ("score", c_float)]

    def values(self) -> dict:
        return {"answer": str(self.string), "begin": self.offset.begin, "end": self.offset.end,
                "score": self.score}


class Answer(Structure):
    _fields_ = [*AnswerSpan._fields_, ("no_answer", c_float), ("windows", c_int32), ("tokens", c_int32),
                ("others", POINTER(AnswerSpan)), ("other_count", c_size_t)]


class ChoicesInput(Structure):
    _fields_ = [("first", Text), ("choices", POINTER(Text)), ("choice_count", c_size_t)]


class Choice(Structure):
    _fields_ = [("logits", POINTER(c_float)), ("probabilities", POINTER(c_float)),
                ("choice_count", c_size_t), ("index", c_int32), ("tokens", c_int32),
                ("truncated", c_int32)]


class Label(Structure):
    _fields_ = [("name", Text), ("index", c_int32), ("probability", c_float)]


def text(string: str | None) -> Text:
    data = None if string is None else string.encode()
    return Text(data, len(data or b""))


def options(given: dict) -> tuple:
    array = (Option * len(given))(*[(name.encode(), str(value).encode()) for name, value in given.items()])
    return array, c_size_t(len(given))


class Model:
    def __init__(self, library: Path, directory: Path, **given):
        self.library = ctypes.CDLL(str(library))
        self.library.bert_error_message.restype = c_char_p
        self.library.bert_model_free.argtypes = self.library.bert_result_free.argtypes = [c_void_p]
        self.handle = c_void_p()
        self.call("bert_model_load", str(directory).encode(), *options(given), byref(self.handle))

    def close(self):
        self.library.bert_model_free(self.handle)

    def call(self, name: str, *arguments) -> None:
        if getattr(self.library, name)(*arguments) != 0:
            raise ValueError(self.library.bert_error_message().decode())

    def answers(self, name: str, kind, read, inputs, *arguments) -> list:
        """What `read` makes of each of the answers, which are of the struct `kind`."""
        result, array = c_void_p(), POINTER(kind)()
        self.call("bert_model_" + name, self.handle, inputs, c_size_t(len(inputs)), *arguments,
                  byref(result), byref(array))
        try:
            count = 1 if name in ("run", "embed") else len(inputs)
            return [read(array[i]) for i in range(count)]
        finally:
            self.library.bert_result_free(result)

    @staticmethod
    def inputs(pairs) -> ctypes.Array:
        return (Input * len(pairs))(*[(text(first), text(second)) for first, second in pairs])

    def run(self, pairs) -> list[list[float]]:
        return self.answers("run", Matrix, Matrix.lists, self.inputs(pairs))[0]

    def embed(self, pairs) -> list[list[float]]:
        return self.answers("embed", Matrix, Matrix.lists, self.inputs(pairs))[0]

    def run_tokens(self, pairs) -> list[list[list[float]]]:
        return self.answers("run_tokens", Matrix, Matrix.lists, self.inputs(pairs))

    def sparse(self, pairs) -> list[tuple]:
        def read(vector):
            return vector.ids[:vector.size], vector.weights[:vector.size]
        return self.answers("sparse", SparseVector, read, self.inputs(pairs))

    def multi_vector(self, pairs, role: int) -> list[list[list[float]]]:
        return self.answers("multi_vector", Matrix, Matrix.lists, self.inputs(pairs), ctypes.c_int(role))

    def hidden(self, pairs, layers) -> list[dict]:
        def read(hidden):
            columns = hidden.states.columns
            return {"hidden": hidden.states.lists(), "pooler": hidden.pooler[:columns] if hidden.pooler else None,
                    "layers": {str(layer): hidden.layers[i].lists() for i, layer in enumerate(layers)}}
        return self.answers("hidden", Hidden, read, self.inputs(pairs), (c_int32 * len(layers))(*layers),
                            c_size_t(len(layers)))

    def attention(self, pairs, layers) -> list[dict]:
        def read(attention):
            found = {}
            for i, layer in enumerate(layers):
                rows, tokens = attention.layers[i].lists(), attention.layers[i].columns
                found[str(layer)] = [rows[head:head + tokens] for head in range(0, len(rows), tokens)]
            return found
        return self.answers("attention", Attention, read, self.inputs(pairs), (c_int32 * len(layers))(*layers),
                            c_size_t(len(layers)))

    def fill_mask(self, pairs, k) -> list[list[dict]]:
        def read(blanks):
            return [{"token": blank.token,
                     "fills": [{"token": str(fill.token), "id": fill.id, "probability": fill.probability}
                               for fill in blank.fills[:blank.fill_count]]}
                    for blank in blanks.blanks[:blanks.blank_count]]
        return self.answers("fill_mask", Blanks, read, self.inputs(pairs), c_int32(k))

    def tag(self, pairs, **given) -> list[dict]:
        def read(tags):
            return {"entities": [span.values() for span in tags.entities[:tags.entity_count]],
                    "words": [span.values() for span in tags.words[:tags.word_count]],
                    "windows": tags.windows, "tokens": tags.tokens, "truncated": bool(tags.truncated)}
        return self.answers("tag", Tags, read, self.inputs(pairs), *options(given))

    def answer(self, pairs, **given) -> list[dict]:
        def read(answer):
            others = [other.values() for other in answer.others[:answer.other_count]]
            return AnswerSpan.values(answer) | {
                "no_answer": answer.no_answer, "windows": answer.windows, "tokens": answer.tokens,
                "others": others}
        return self.answers("answer", Answer, read, self.inputs(pairs), *options(given))

    def choose(self, first: str, choices: list[str]) -> dict:
        def read(choice):
            return {"choice": choice.index, "logits": choice.logits[:choice.choice_count],
                    "probabilities": choice.probabilities[:choice.choice_count], "tokens": choice.tokens,
                    "truncated": bool(choice.truncated)}
        array = (Text * len(choices))(*map(text, choices))
        question = (ChoicesInput * 1)((text(first), array, len(choices)))
        return self.answers("choose", Choice, read, question)[0]

    def tokenize(self, pairs) -> list[dict]:
        def read(encoding):
            tokens = []
            for token_id in encoding.ids[:encoding.size]:
                token = Text()
                self.call("bert_model_token", self.handle, c_int32(token_id), byref(token))
                tokens.append(str(token))
            return {"ids": encoding.ids[:encoding.size], "type_ids": encoding.type_ids[:encoding.size],
                    "tokens": tokens, "offsets": [[o.begin, o.end] for o in encoding.offsets[:encoding.size]],
                    "truncated": bool(encoding.truncated)}
        return self.answers("tokenize", Encoding, read, self.inputs(pairs))

    def label(self, logits: list[float]) -> dict:
        label = Label()
        self.call("bert_model_best_label", self.handle, (c_float * len(logits))(*logits),
                  c_size_t(len(logits)), byref(label))
        return {"label": str(label.name), "probability": label.probability}

    def number(self, name: str) -> int:
        number = c_int64()
        self.call("bert_model_info_number", self.handle, name.encode(), byref(number))
        return number.value

    def texts(self, name: str) -> list[str]:
        array, count = POINTER(Text)(), c_size_t()
        self.call("bert_model_info_texts", self.handle, name.encode(), byref(array), byref(count))
        return [str(each) for each in array[:count.value]]
