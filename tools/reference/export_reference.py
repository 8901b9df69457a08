#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference file of tools/reference/reference.py from PyTorch and transformers, in float64.

  pip install torch transformers numpy    (or tools/peers/setup)
  export_reference.py -m DIR -o FILE --inputs pairs.tsv      (or --random, as reference.py)

Texts are tokenized by the model's own AutoTokenizer. Inputs run one at a time, so without padding,
through the class that config.json names; the sentence embedding is pooled from the last hidden
state as modules.json says. Tested with transformers 4.57 and 5.23.
"""
import sys
from pathlib import Path

try:
    import numpy as np
    import torch
    import transformers
except ImportError as error:
    sys.exit(f"export_reference.py: needs PyTorch and transformers ({error}): pip install torch "
             "transformers numpy, or use tools/reference/reference.py, which needs NumPy alone")

from newer.config import NewerConfig
from reference import arguments, sentence_embedding, write_reference
from reference_config import Config, read_config
from reference_inputs import (
    Input,
    lacks_types,
    random_inputs,
    read_inputs,
    read_json,
    read_limits,
    with_prompt,
)
from tensor_file import FormatError


def tokenize_with(directory: Path, config: Config, max_length: int | None):
    """The callable that read_inputs takes, using the directory's own tokenizer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
    limit, lower_first = read_limits(directory, config.longest, max_length)
    path = directory / "tokenizer_config.json"
    # Version 5's classes leave out some models' segment ids, though these were trained with them.
    returns_types = None if path.exists() and lacks_types(read_json(path)) else True

    def tokenize(texts: list[str]) -> tuple[list[int], list[int]]:
        texts = [text.lower() for text in texts] if lower_first else texts
        encoding = tokenizer(*texts, truncation="longest_first", max_length=limit,
                             return_token_type_ids=returns_types)
        ids = list(encoding["input_ids"])
        return ids, list(encoding.get("token_type_ids", [0] * len(ids)))

    return with_prompt(config, tokenize)


def load(directory: Path, config: Config):
    """The model, and whether the checkpoint has its pooler: transformers initialises one if not."""
    kind = getattr(transformers, config.architecture, None)
    if kind is None:
        raise FormatError(f"{directory}/config.json: architectures has {config.architecture}, which "
                          f"transformers {transformers.__version__} does not have")
    try:
        model, info = kind.from_pretrained(str(directory), output_loading_info=True)
    except RuntimeError as error:  # other shapes, of which it has printed a list
        raise FormatError(f"{directory}: transformers {transformers.__version__} cannot load it as "
                          f"{config.architecture}: {str(error).splitlines()[0]}") from None
    missing = sorted(info["missing_keys"])
    # The decoder is tied to the word embeddings, and its bias to the head's.
    newer = isinstance(config, NewerConfig)
    names = None if newer else config.family.masked_lm
    tied = [k for k in missing if "decoder" in k] if newer else (names.decoder, names.decoder_bias)
    required = [key for key in missing if "pooler." not in key and key not in tied]
    no_pooler = any("pooler." in key for key in missing)
    if required or (no_pooler and config.architecture.partition("For")[1]):
        raise FormatError(f"{directory}: the checkpoint lacks {', '.join(required or missing)}")
    pooler = getattr(model.base_model, "pooler", None)  # MobileBERT's may have no weights
    has_pooler = not no_pooler and pooler is not None and any(True for _ in pooler.parameters())
    return model.double().eval(), has_pooler


def run(model, has_pooler: bool, config: Config, item: Input) -> dict[str, torch.Tensor]:
    """The stages of one input: [S, ...] if per token, [1, ...] if per sentence."""
    inputs = {"input_ids": torch.tensor([item.ids])}
    if config.types:
        inputs["token_type_ids"] = torch.tensor([item.type_ids])
    if config.architecture.endswith("ForMultipleChoice"):
        inputs = {name: ids[None] for name, ids in inputs.items()}
    with torch.no_grad():
        output = model(**inputs, output_hidden_states=True, return_dict=True)
        names = ["embeddings"] + [f"layer.{i}" for i in range(config.layers)]
        if "decoder_hidden_states" in output:
            states = output.encoder_hidden_states + output.decoder_hidden_states[1:]
        else:  # transformers 5 also gives what ALBERT's inner layers return
            states = output.hidden_states[::(len(output.hidden_states) - 1) // config.layers]
        stages = {name: of_layer[0] for name, of_layer in zip(names, states, strict=True)}
        base, last = model.base_model, stages[names[-1]]
        norm = getattr(base, "final_norm", getattr(base, "LayerNorm", None))
        if transformers.__version__.startswith("4") and norm:  # 5 gives what it makes of the last state
            last = stages[names[-1]] = norm(last)
        if has_pooler:
            pooler, last = base.pooler, last[None]
            is_linear = isinstance(pooler, torch.nn.Linear)  # ALBERT's, without the tanh
            stages["pooler"] = torch.tanh(pooler(last[:, 0])) if is_linear else pooler(last)
    return stages | scores(config.architecture, output)


def scores(architecture: str, output) -> dict[str, torch.Tensor]:
    if architecture.removesuffix("ForPreTraining") in ("Bert", "Ernie", "MegatronBert", "MobileBert"):
        return {"logits": output.prediction_logits[0],
                "next_sentence": output.seq_relationship_logits}
    if architecture == "AlbertForPreTraining":
        return {"logits": output.prediction_logits[0], "next_sentence": output.sop_logits}
    if architecture.endswith("ForPreTraining"):
        return {"logits": output.logits[0][:, None]}
    if architecture.endswith("ForQuestionAnswering"):
        return {"logits": torch.stack([output.start_logits[0], output.end_logits[0]], 1)}
    if architecture.endswith(("ForMaskedLM", "ForConditionalGeneration", "ForTokenClassification")):
        return {"logits": output.logits[0]}
    return {} if architecture.endswith("Model") else {"logits": output.logits}


def export(directory: Path, config: Config, inputs: list[Input]) -> dict[str, np.ndarray]:
    model, has_pooler = load(directory, config)
    parts = [run(model, has_pooler, config, item) for item in inputs]
    starts = np.cumsum([0] + [len(item.ids) for item in inputs]).astype("<i8")
    stages = {"ids": np.concatenate([item.ids for item in inputs]).astype("<i8"),
              "type_ids": np.concatenate([item.type_ids for item in inputs]).astype("<i8"),
              "starts": starts}
    stages |= {name: torch.cat([part[name] for part in parts]).numpy() for name in parts[0]}
    last = stages[f"layer.{config.layers - 1}"]
    stages["embedding"] = sentence_embedding(directory, last, starts)
    return stages


def main() -> None:
    args = arguments("Writes a BERT model's outputs, as transformers computes them.").parse_args()
    try:
        config = read_config(args.model)
        if args.random is not None:
            inputs = random_inputs(config, args.random, args.lengths, args.seed)
        else:
            tokenize = tokenize_with(args.model, config, args.max_length)
            inputs = read_inputs(config, args.inputs, tokenize)
        writer = f"tools/reference/export_reference.py, transformers {transformers.__version__}, " \
                 f"torch {torch.__version__}"
        write_reference(args.output, export(args.model, config, inputs), inputs, "<f8", args.stages,
                        writer, args.max_length and min(args.max_length, config.longest))
    except (FormatError, OSError) as error:
        sys.exit(f"export_reference.py: {error}")


if __name__ == "__main__":
    main()
