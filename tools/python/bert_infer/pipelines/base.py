# SPDX-License-Identifier: Apache-2.0
"""What all pipelines share: their arguments, and the shapes of inputs."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, ClassVar

from bert_infer import prompted_model
from bert_infer._core import Encoding, Error
from bert_infer.model import Model, Text, Tokenizer, whole

# An iterator's inputs are read batch_size at a time (STREAMED by default), or fewer once they have
# CHARACTERS characters. Lists are answered in parts of STREAMED inputs or
# CHARACTERS characters, times the workers, so that Ctrl-C takes effect in between.
STREAMED, CHARACTERS = 256, 65536
UNLIMITED = 2**31 - 1
# transformers' arguments that make no difference to answers here.
WITHOUT_EFFECT = {"num_workers", "padding", "use_fast", *prompted_model.WITHOUT_EFFECT}


class Pipeline:
    """A model for one task. Arguments given here are defaults for those of the calls.

    A text or a dict gives one answer; a list, an array, or whatever else has a length and can be
    iterated gives a list; anything else (generators, transformers' KeyDataset) gives an iterator. It
    reads batch_size inputs (256) before it answers, so a generator that waits for answers needs
    batch_size=1.
    """
    task: ClassVar[str] = ""
    parameters: ClassVar[dict[str, Any]] = {}
    """The arguments that a call takes, and their defaults."""
    none_counts: ClassVar[frozenset[str]] = frozenset()
    """The arguments for which None is a value of its own. For the others it stands for the default, as
    in transformers."""

    def __init__(self, model: Model, **settings: Any) -> None:
        self.model = model
        self._whole_texts: Tokenizer | None = None
        self._without_prompt: tuple[Model, Tokenizer] | None = None
        self._settings = self._merged(dict(self.parameters), settings)
        self.check_model()

    def check_model(self) -> None:
        """Fails if the model has no head for the task."""

    def answers(self, items: list[Any], settings: dict[str, Any]) -> list[Any]:
        """One for each item."""
        raise NotImplementedError

    def __call__(self, inputs: Any, **settings: Any) -> Any:
        merged = self._merged(self._settings, settings)
        if isinstance(inputs, (str, dict)):
            return self.answers([inputs], merged)[0]
        prompted_model.refuse_table(inputs)
        if not isinstance(inputs, (bytes, bytearray)):
            if isinstance(inputs, Iterable) and isinstance(inputs, Sized):
                return list(self._in_parts(iter(inputs), merged))
            if isinstance(inputs, Iterable):
                return self._streamed(iter(inputs), merged)
            if hasattr(inputs, "__getitem__") and hasattr(inputs, "__len__"):
                return self._streamed((inputs[i] for i in range(len(inputs))), merged)
        raise TypeError(f"{self.task}: found {type(inputs).__name__}, expected a text or a list")

    def _in_parts(self, inputs: Iterator[Any], settings: dict[str, Any]) -> Iterator[Any]:
        start, workers = 0, self.model.info.workers
        for part in parts_of(inputs, STREAMED * workers, CHARACTERS * workers):
            yield from self._part(part, start, settings)
            start += len(part)

    def _streamed(self, inputs: Iterator[Any], settings: dict[str, Any]) -> Iterator[Any]:
        start = 0
        for part in parts_of(inputs, settings["batch_size"] or STREAMED, CHARACTERS):
            try:
                found = self._part(part, start, settings)
            except (Error, TypeError, ValueError):  # after the answers to those before
                for i, item in enumerate(part):
                    yield from self._part([item], start + i, settings)
                raise
            yield from found
            start += len(part)

    def _part(self, items: list[Any], start: int, settings: dict[str, Any]) -> list[Any]:
        """The answers to the inputs from `start` on."""
        try:
            return self.answers(items, settings)
        except (Error, TypeError, ValueError) as error:
            raise prompted_model.counted_from(start, error) from None

    def _merged(self, defaults: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        for name in "tokenizer_kwargs", "tokenize_kwargs":  # some pipelines' names for these
            settings = {**self._of_tokenizer(name, settings.pop(name, None) or {}), **settings}
        settings = {name: value for name, value in settings.items() if name not in WITHOUT_EFFECT}
        if settings.pop("truncation", None) not in (None, True, "longest_first"):
            raise ValueError(f"{self.task}: truncation must be True: long inputs are truncated")
        given = settings.pop("batch_size", None)
        batch_size = {"batch_size": defaults.get("batch_size") if given is None else given}
        check_positive(batch_size, "batch_size")
        unknown = sorted(settings.keys() - self.parameters.keys())
        if unknown:
            raise TypeError(f"{self.task}: unknown arguments {', '.join(unknown)}, expected some of "
                            f"{', '.join(sorted(self.parameters))}")
        merged = defaults | {name: value for name, value in settings.items()
                             if value is not None or name in self.none_counts} | batch_size
        self.check(merged)
        return merged

    def _of_tokenizer(self, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        known = {"truncation", "padding"} | ({"max_length"} & self.parameters.keys())
        unknown = sorted(settings.keys() - known)
        if unknown:
            raise TypeError(f"{self.task}: {name}: unknown {', '.join(unknown)}, expected some of "
                            f"{', '.join(sorted(known))}")
        return settings

    def check(self, settings: dict[str, Any]) -> None:
        """Fails with a ValueError that names the argument."""

    def whole(self, texts: Iterable[Text]) -> list[Encoding]:
        """The encodings of texts, not truncated."""
        if self._whole_texts is None:
            self._whole_texts = Tokenizer(self.model.directory, UNLIMITED)
        return self._encode(self._whole_texts, texts)

    def unprompted(self, texts: list[Text], model: Model | None = None) -> Sequence[Text | Encoding]:
        """The inputs of a model (the pipeline's) without the prompt that sentence-transformers' files
        name as the default: transformers does not read those. An own prompt= and a chat template
        stay."""
        of = model or self.model
        settings = prompted_model.read_json(of.directory, prompted_model.SETTINGS)
        if of.options.prompt or of.info.has_chat_template or not settings.get("default_prompt_name"):
            return texts
        if self._without_prompt is None or self._without_prompt[0] is not of:
            self._without_prompt = of, Tokenizer(of.directory, of.info.max_length)
        return self._encode(self._without_prompt[1], texts)

    def _encode(self, tokenizer: Tokenizer, texts: Iterable[Text]) -> list[Encoding]:
        return tokenizer.encode(texts, self.model.info.threads * self.model.info.workers)


def parts_of(inputs: Iterator[Any], size: int, characters: int) -> Iterator[list[Any]]:
    part: list[Any] = []
    length = 0
    while True:
        try:
            item = next(inputs)
        except StopIteration:
            break
        except Exception:  # the iterator's own error: what came before it goes first
            if part:
                yield part
            raise
        part.append(item)
        length += len(item if isinstance(item, str) else str(item))
        if len(part) >= size or length >= characters:
            yield part
            part, length = [], 0
    if part:
        yield part


def require_texts(items: list[Any]) -> None:
    for i, item in enumerate(items):
        if not isinstance(item, str):
            raise ValueError(f"inputs[{i}]: found {type(item).__name__}, expected a text")


def check_positive(settings: dict[str, Any], name: str, least: int = 1) -> None:
    if settings[name] is None:
        return
    settings[name] = whole(name, settings[name])
    if settings[name] < least:
        raise ValueError(f"{name} is {settings[name]}, expected at least {least}")
