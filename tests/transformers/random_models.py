# SPDX-License-Identifier: Apache-2.0
"""Random models, made and saved by transformers' own classes, with tokenizers trained on this
project's own pages."""
import collections
import json
import re
import shutil
import unicodedata
from pathlib import Path

import sentencepiece
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

ROOT = Path(__file__).resolve().parents[2]
# Pages that rarely change: with the vocabularies, the random models' errors would change too.
PAGES = ["LICENSE", "tests/demo/everyday.tsv", "models/demo/README.md"]
# The classes' prefix, by model_type.
FAMILIES = {"bert": "Bert", "distilbert": "DistilBert", "electra": "Electra", "albert": "Albert",
            "roberta": "Roberta", "xlm-roberta": "XLMRoberta", "camembert": "Camembert",
            "mpnet": "MPNet", "ernie": "Ernie", "megatron-bert": "MegatronBert",
            "data2vec-text": "Data2VecText", "roberta-prelayernorm": "RobertaPreLayerNorm",
            "xlm-roberta-xl": "XLMRobertaXL", "bart": "Bart", "mobilebert": "MobileBert", "rembert": "RemBert"}
# Of another family.
TOKENIZERS = {"ernie": "bert", "megatron-bert": "bert", "data2vec-text": "roberta", "roberta-prelayernorm": "roberta",
              "xlm-roberta-xl": "xlm-roberta", "bart": "roberta", "mobilebert": "bert"}
EVERY_FAMILY = ["Model", "ForSequenceClassification", "ForTokenClassification",
                "ForQuestionAnswering", "ForMultipleChoice", "ForMaskedLM"]
HEADS = {"bart": ["Model", "ForSequenceClassification", "ForQuestionAnswering", "ForConditionalGeneration"]}
MORE = {"bert": ["ForPreTraining", "ForNextSentencePrediction"],
        "ernie": ["ForPreTraining", "ForNextSentencePrediction"],
        "megatron-bert": ["ForPreTraining", "ForNextSentencePrediction"], "electra": ["ForPreTraining"],
        "albert": ["ForPreTraining"], "mobilebert": ["ForPreTraining", "ForNextSentencePrediction"]}
# EmbeddingGemma's kind, for heads of 12.
GEMMA = {"num_key_value_heads": 1, "head_dim": 12, "query_pre_attn_scalar": 12, "sliding_window": 16,
         "use_bidirectional_attention": True,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]}
GEMMA_2 = {"num_key_value_heads": 3, "head_dim": 14, "global_head_dim": 20, "num_global_key_value_heads": 1,
           "sliding_window": 5, "hidden_size_per_layer_input": 10, "embedding_dim": 44, "sliding_window_pattern": 2}
BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MPNET_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def make_word_piece(directory: Path, special: list[str]) -> None:
    """Characters and the most frequent words of the pages, and pieces of these. Always the same,
    unlike what tokenizers' trainer makes of them."""
    text = " ".join((ROOT / page).read_text() for page in PAGES)
    text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(c))
    words = collections.Counter(re.findall(r"\w+", text))
    frequent = [word for word, _ in sorted(words.items(), key=lambda of: (-of[1], of[0]))]
    characters = sorted({c for c in text if not c.isspace()})
    pieces = ["##" + word[-length:] for length in (3, 2) for word in frequent[:40] if len(word) > length]
    tokens = [*special, *characters, *("##" + c for c in characters), *frequent[:200], *pieces]
    lines = "".join(token + "\n" for token in dict.fromkeys(tokens))
    (directory / "vocab.txt").write_text(lines, encoding="utf-8")


def train_byte_pair(directory: Path, special: list[str], suffix: str = "") -> None:
    """Writes vocab.json and merges.txt. suffix: of the pieces that end a word."""
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix=suffix))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  end_of_word_suffix=suffix, show_progress=False)
    tokenizer.train([str(ROOT / page) for page in PAGES], trainer)
    tokenizer.model.save(str(directory))


def train_unigram(path: Path, **special) -> None:
    prefix = path.with_suffix("")
    sentencepiece.SentencePieceTrainer.train(
        input=",".join(str(ROOT / page) for page in PAGES), model_prefix=str(prefix),
        vocab_size=300, model_type="unigram", minloglevel=2, num_threads=1, **special)
    prefix.with_name(prefix.name + ".vocab").unlink()
    trained = prefix.with_name(prefix.name + ".model")
    if trained != path:
        trained.rename(path)


def make_tokenizer(family: str, directory: Path):
    """The family's tokenizer, from a vocabulary that is written to `directory`."""
    if family == "albert":
        train_unigram(directory / "spiece.model", pad_id=0, unk_id=1, bos_id=-1, eos_id=-1,
                      control_symbols=BERT_SPECIAL[2:])
    elif family == "rembert":
        train_unigram(directory / "sentencepiece.model", pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
                      control_symbols=BERT_SPECIAL[2:])
    elif family in ("xlm-roberta", "camembert", "xlm-roberta-xl"):
        train_unigram(directory / "sentencepiece.bpe.model", unk_id=0, bos_id=1, eos_id=2)
    elif family in ("roberta", "data2vec-text", "roberta-prelayernorm", "bart"):
        train_byte_pair(directory, ROBERTA_SPECIAL)
    else:
        make_word_piece(directory, MPNET_SPECIAL if family == "mpnet" else BERT_SPECIAL)
    kind = getattr(transformers, FAMILIES[TOKENIZERS.get(family, family)] + "TokenizerFast")
    tokenizer = kind.from_pretrained(str(directory), model_max_length=60)
    if family == "rembert":  # version 5 puts no special tokens around texts before it reads its own tokenizer.json
        tokenizer.save_pretrained(str(directory))
        tokenizer = kind.from_pretrained(str(directory))
    return tokenizer


def make_config(family: str, tokenizer, **settings):
    """Sizes that are no multiples of anything."""
    sizes = {"hidden_size": 39, "num_attention_heads": 3, "num_hidden_layers": 3,
             "intermediate_size": 77}
    if family == "distilbert":
        sizes = {"dim": 39, "n_heads": 3, "n_layers": 3, "hidden_dim": 77}
    if family == "bart":
        sizes = {f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in
                 (("attention_heads", 3), ("layers", 2), ("ffn_dim", 77))} | {"d_model": 39}
    sizes["max_position_embeddings"] = 64
    if family in ("albert", "electra", "mobilebert"):
        sizes["embedding_size"] = 21
    if family == "albert":
        sizes |= {"num_hidden_groups": 2, "num_hidden_layers": 4, "inner_group_num": 2}
    if family == "rembert":
        sizes |= {"input_embedding_size": 21, "output_embedding_size": 56}
    if family == "mobilebert":
        sizes |= {"intra_bottleneck_size": 24, "num_feedforward_networks": 3}
    kind = getattr(transformers, FAMILIES[family] + "Config")
    return kind(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id, **{**sizes, **settings})


def randomise(model, seed: int, head_gain: float) -> None:
    """Weights so large that mistakes show, and no gain or bias of neutral value. The larger
    head_gain, the more do labels differ from token to token."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            values = torch.randn(weight.shape, generator=random)
            if weight.dim() < 2:
                is_gain = name.endswith("weight")
                weight.copy_(1 + 0.1 * values if is_gain else 0.1 * values)
            elif "embeddings" in name:
                weight.copy_(0.1 * values)
            else:
                gain = head_gain if name.startswith(("classifier", "qa_outputs")) else 1.5
                weight.copy_(gain * values / weight.shape[1] ** 0.5)


def make_model(family: str, head: str, tokenizer, seed: int, head_gain: float = 1.5, **settings):
    config = make_config(family, tokenizer, **settings)
    model = getattr(transformers, FAMILIES[family] + head)(config).eval()
    randomise(model, seed, head_gain)
    if family == "mobilebert":  # without norms between them, layers amplify each other's rounding
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if weight.dim() == 2 and "encoder" in name:
                    weight *= 0.4
    return model


def save(model, directory: Path, form: str) -> None:
    """Saves a model as transformers does now, in shards, in half precision, or as PyTorch files."""
    if "float16" in form:
        model = model.to(torch.bfloat16 if "bfloat16" in form else torch.float16)
    shards = {"max_shard_size": "30KB"} if "shards" in form else {}
    if "bin" not in form:
        return model.save_pretrained(str(directory), **shards)
    if transformers.__version__.startswith("4"):
        return model.save_pretrained(str(directory), safe_serialization=False, **shards)
    # transformers 5 writes safetensors only, but its users' directories are older than that.
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(str(directory))
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    zipped = "legacy" not in form
    if not shards:
        torch.save(weights, directory / "pytorch_model.bin",
                   _use_new_zipfile_serialization=zipped)
        return None
    names = sorted(weights)
    parts = [names[0::2], names[1::2]]
    files = [f"pytorch_model-0000{i}-of-00002.bin" for i in (1, 2)]
    for file, part in zip(files, parts):
        torch.save({name: weights[name] for name in part}, directory / file)
    index = {"metadata": {}, "weight_map": {n: f for f, part in zip(files, parts) for n in part}}
    (directory / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    return None


def fresh(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory
