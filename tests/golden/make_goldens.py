#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden models and their float64 references: make_goldens.py DIR

Writes, for each NAME, the model DIR/NAME/ and the reference DIR/NAME.safetensors, and index.json:
{"models": [{"name", "for", "model", "reference"}]}, where "for" says what the model covers.
DIR/formats/HEAD/ gets one model in each of weight_files.FORMATS, for two heads, and DIR/dense/ the
weights of a sentence-transformers dense module in two formats. For DIR/gliner/ and
DIR/gliner-words/ see span_models.py.
"""
import json
import sys
import zlib
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "reference"))

import decoder_models  # noqa: E402
import make_model  # noqa: E402
import reference  # noqa: E402
import span_models  # noqa: E402
import weight_files  # noqa: E402
from reference_inputs import Input, WordPiece, random_inputs  # noqa: E402

UGLY = [3, 31, 33, 257, 512]
SHORT = [4, 1, 2, 17, 32, 65]
TEXTS = [["A man is playing a guitar.", "A man plays music."], ["Two dogs run on the beach."],
         ["the girl is WALKING, and the boy eats?", ""], ["Ca\u0301fé, naïve: 42!", "[x] & y"]]

# name, what it covers, arguments of make_model.py, lengths of the inputs (None: the texts above)
MODELS = [
    ("plain", "three labels, head size 8, all ugly lengths",
     "--shape 2,48,6,192 --labels 3", UGLY),
    ("tinybert", "width 312 in 12 heads of 26, four layers, F16 storage",
     "--shape 4,312,12,1200 --dtype F16 --vocab 150", [3, 31, 33, 257]),
    ("bf16", "BF16 storage, head size 26, one layer, gelu_new, odd intermediate size",
     "--shape 1,78,3,133 --dtype BF16 --act gelu_new --labels 4", UGLY),
    ("wide-heads", "head size 64, three layers, gelu_pytorch_tanh, F16 storage",
     "--shape 3,128,2,512 --dtype F16 --act gelu_pytorch_tanh --labels 5", UGLY),
    ("relu", "relu, no bert. prefix under a classification head, one head",
     "--shape 2,26,1,37 --act relu --no-prefix", SHORT + UGLY),
    ("pretraining", "gamma and beta, position_ids, cls.predictions.* beside the next-sentence head",
     "--shape 2,64,8,128 --head pretraining --names gamma", UGLY),
    ("next-sentence", "next-sentence head, five shards",
     "--shape 3,96,4,384 --head nsp --sharded 5", UGLY),
    ("one-label", "a raw score, large layer_norm_eps", "--shape 1,48,2,96 --labels 1 --problem-type regression "
     "--epsilon 1e-3", SHORT),
    ("multi-label", "sigmoid scores by problem_type, named labels",
     "--shape 1,64,4,128 --labels 3 --label-names toxic,rude,fine "
     "--problem-type multi_label_classification", SHORT),
    ("encoder", "BertModel with a pooler and no prefix; mean pooling, the default",
     "--shape 2,52,2,104 --head none", UGLY),
    ("no-pooler", "BertModel without a pooler, bert. prefix, old names in BF16",
     "--shape 2,104,4,200 --head none --no-pooler --prefix --names gamma --dtype BF16", UGLY),
    ("st-mean", "sentence-transformers, mean, normalised",
     "--shape 2,48,6,192 --head none --sentence-transformers mean --normalize", SHORT),
    ("st-cls", "sentence-transformers, first token, normalised",
     "--shape 2,48,6,192 --head none --sentence-transformers cls --normalize", SHORT),
    ("st-max", "sentence-transformers, maximum, without a pooler",
     "--shape 2,48,6,192 --head none --no-pooler --sentence-transformers max", SHORT),
    ("one-segment", "a single token type, 40 positions", "--shape 1,32,4,64 --types 1 --positions 40", [3, 31, 33, 40]),
    ("orderless", "no position embeddings: the order of tokens is lost", "--shape 2,48,6,192 --no-positions", UGLY),
    ("wide", "a feed-forward network in slices on matrix tiles", "--shape 2,48,2,3072 --head none", [3, 65, 300]),
    ("texts", "inputs as text, through the tokenizer",
     "--shape 2,64,4,256 --labels 3 --vocab 300", None),
]

ODD = [1, 2, 17, 33, 65, 100]
FAR_APART = [5, 64, 130, 200]  # MPNet's last bucket begins at a distance of about 110
# --family, --shape and whatever else each family needs; head sizes are 13 and 26
SHAPES = {
    "bert": "--shape 2,39,3,77 --positions 100",
    "distilbert": "--family distilbert --shape 3,26,2,61 --positions 100",
    "electra": "--family electra --shape 2,52,2,90 --embedding-size 20 --positions 100",
    "albert": "--family albert --shape 3,39,3,80 --embedding-size 14 --positions 100",
    "rembert": "--family rembert --shape 3,39,3,70 --embedding-size 15 --positions 100",
    "xlm-roberta": "--family xlm-roberta --shape 2,26,2,51 --positions 102",
    "camembert": "--family camembert --shape 2,39,3,60 --positions 102",
    "mpnet": "--family mpnet --shape 2,39,3,70 --positions 202",
}
HEADS = {
    "mlm": "vocabulary logits for each token, decoder tied to the word embeddings",
    "tokens": "five labels per token", "qa": "start and end logits for each token",
    "choice": "one logit per pair of prompt and choice",
    "none": "the encoder alone, with its pooler if it has one",
    "classification": "four labels, with the family's own head",
}


def relatives() -> list[tuple[str, str, str, list[int] | None]]:
    """Every family with every head, then features that only some families have."""
    models = []
    for family, shape in SHAPES.items():
        lengths = FAR_APART if family == "mpnet" else ODD
        for head, purpose in HEADS.items():
            if family == "bert" and head in ("none", "classification"):
                continue  # "encoder" and "plain" above
            labels = {"tokens": " --labels 5", "classification": " --labels 4"}.get(head, "")
            name = family if head == "none" else f"{family}-{head}"
            models.append((name, purpose, f"{shape} --head {head}{labels}", lengths))
    bert, electra, albert, xlm = (SHAPES[x] for x in ("bert", "electra", "albert", "xlm-roberta"))
    return models + [
        ("ernie", "an embedding of the task, four segments",
         "--family ernie --shape 2,39,3,77 --positions 100 --types 4 --head none", ODD),
        ("ernie-pretraining", "both heads, F16",
         "--family ernie --shape 2,26,2,61 --positions 100 --head pretraining --act relu --dtype F16", ODD),
        ("megatron", "norms come first, and last of all",
         "--family megatron-bert --shape 2,39,3,77 --positions 100 --head none --scale 0.8", ODD),
        ("megatron-pretraining", "both heads, relu, F16",
         "--family megatron-bert --shape 2,26,2,61 --positions 100 --head pretraining --act relu --dtype F16", ODD),
        ("data2vec", "RoBERTa by other names",
         "--family data2vec-text --shape 2,26,2,51 --positions 102 --labels 4", ODD),
        ("longformer", "windows that reach 6 tokens to each side",
         "--family longformer --shape 3,36,3,50 --positions 102 --head mlm --scale 0.8", ODD),
        ("roberta-prelayernorm", "norms come first; two segments",
         "--family roberta-prelayernorm --shape 2,39,3,60 --positions 102 --head mlm", ODD),
        ("xlm-roberta-xl", "norms come first, none after the embeddings",
         "--family xlm-roberta-xl --shape 3,39,3,60 --positions 102 --labels 4", ODD),
        ("chinese-clip", "BERT beside an encoder of images: the first token's state is projected, F16",
         "--family chinese_clip --shape 3,39,3,70 --positions 100 --head none --prefix --dtype F16", ODD),
        ("electra-pretraining", "original or replaced: one logit per token",
         f"{electra} --head pretraining --act gelu_new", ODD),
        ("electra-one-width", "embedding width equal to the hidden size: no projection, F16",
         "--family electra --shape 2,39,3,70 --positions 100 --head none --prefix --dtype F16",
         ODD),
        ("albert-pretraining", "masked language model and sentence order heads",
         f"{albert} --head pretraining", ODD),
        ("albert-groups", "five layers from two groups of two inner layers, BF16",
         "--family albert --shape 5,26,2,40 --groups 2 --inner-groups 2 --dtype BF16 --head mlm "
         "--positions 100", ODD),
        ("bert-mlm-stored", "decoder weight and bias stored although they are tied",
         f"{bert} --head mlm --decoder stored --act relu", ODD),
        ("xlm-roberta-untied", "tie_word_embeddings is false; has the buffer position_ids",
         f"{xlm} --head mlm --decoder untied --position-ids", ODD),
        ("distilbert-stored", "vocab_projector.weight stored as well",
         f"{SHAPES['distilbert']} --head mlm --decoder stored", ODD),
        ("relative-key", "distances multiplied with queries; position embeddings stored but unused",
         f"{bert} --position-type relative_key --labels 3", ODD),
        ("relative-key-query", "distances multiplied with queries and keys",
         f"{bert} --position-type relative_key_query --head none", ODD),
        ("distilbert-sinusoidal", "stored position embeddings are sines and cosines",
         f"{SHAPES['distilbert']} --position-type sinusoidal --head none", ODD),
        ("mpnet-sentence", "sentence-transformers, mean, normalised; texts, <s> a </s></s> b </s>",
         "--family mpnet --shape 2,52,4,90 --head none --sentence-transformers mean --normalize",
         None),
        ("distilbert-texts", "inputs as text, whose type ids are ignored",
         "--family distilbert --shape 2,26,2,61 --labels 3", None),
        ("xlm-roberta-sentence", "sentence-transformers with RoBERTa's positions",
         f"{xlm} --head none --sentence-transformers mean --normalize", ODD),
    ]


WINDOWED = decoder_models.WINDOWED
MODERN = "--family modernbert --shape 4,36,3,50 --positions 128 --scale 0.8"
MODERN_SETTINGS = [
    'layer_types=["sliding_attention","full_attention","sliding_attention","full_attention"]',
    'rope_parameters={"full_attention":{"rope_theta":80000.0,"rope_type":"default"},'
    '"sliding_attention":{"rope_theta":500.0,"rope_type":"default"}}',
    'local_attention=10', 'classifier_pooling="cls"', 'norm_bias=true', 'attention_bias=true',
    'mlp_bias=true', 'classifier_bias=true', 'classifier_activation="relu"']


def newer() -> list[tuple[str, str, str, list[int] | None]]:
    """The families after 2021; 12 heads take the second half of ALiBi's slopes."""
    models = []
    shape = "--shape 3,48,12,50 --positions 128 --scale 0.8"
    for family, heads in (("modernbert", tuple(HEADS)),
                          ("nomic", ("none", "classification", "mlm")), ("nomic5", ("tokens",)),
                          ("gte", tuple(HEADS)), ("gte5", ("mlm",)),
                          ("jina", tuple(HEADS)), ("jina-code", ("none", "tokens")),
                          ("jina-roberta", ("none", "classification", "mlm")),
                          ("jina-v3", ("none", "tokens", "qa")), ("deberta", tuple(HEADS)),
                          ("deberta1", ("none", "classification", "mlm", "tokens", "qa")),
                          ("ultrabert", ("none", "classification", "mlm", "tokens", "qa")),
                          ("eurobert", ("none", "classification", "mlm", "tokens")),
                          ("esm", ("none", "classification", "mlm", "tokens")),
                          ("neobert", ("none", "classification", "mlm")), ("clip", ("none",)),
                          ("privacy-filter", ("none", "tokens")), ("bart", ("none", "qa", "mlm")),
                          ("mobilebert", tuple(HEADS))):
        for head in heads:
            arguments = MODERN if family == "modernbert" else f"--family {family} {shape}"
            name = family if head == "none" else f"{family}-{head}"
            models.append((name, HEADS[head], f"{arguments} --head {head}", WINDOWED))
    settings = " ".join(f"--set {setting}" for setting in MODERN_SETTINGS)
    return models + [
        ("bart-classification", "the state of the last end of sequence; one layer in the decoder, F16",
         f"--family bart {shape} --set decoder_layers=1 --labels 3 --dtype F16", WINDOWED[1:]),
        ("mobilebert-pretraining", "both heads; one network in a layer, a pooler without weights, 12 heads for 50, "
         "BF16", "--family mobilebert --shape 3,50,5,50 --positions 128 --scale 0.8 --set num_attention_heads=12 "
         "--set intra_bottleneck_size=24 --set true_hidden_size=24 --set classifier_activation=false "
         "--set num_feedforward_networks=1 --head pretraining --dtype BF16", WINDOWED),
        ("clip-text", "CLIP without its projection", f"--family clip-text {shape} --head none", WINDOWED),
        ("clip-projection", "with it, and the wrong end of text in its file; gelu, F16",
         f'--family clip-text {shape} --set architectures=["CLIPTextModelWithProjection"] --set eos_token_id=2 '
         '--set hidden_act="gelu" --head none --prefix --dtype F16', WINDOWED),
        ("modernbert-newer", "layer_types, rope_parameters, biases; the first token is classified",
         f"--family modernbert --shape 4,52,2,37 --positions 128 --scale 0.8 {settings}", WINDOWED),
        ("nomic-moe", "five experts, of which a token takes two",
         f"--family nomic-moe {shape} --head none", WINDOWED),
        ("nomic-moe-all", "three experts, all of which a token takes",
         f"--family nomic-moe {shape} --head classification --set num_experts=3 --set moe_top_k=3", WINDOWED),
        ("gte-separate", "three projections, two segments, NTK with mixed_b",
         '--family gte --shape 2,52,2,37 --positions 128 --head none --set pack_qkv=false --set '
         'type_vocab_size=2 --set rope_scaling={"type":"ntk","factor":3.0,"mixed_b":0.6}', WINDOWED),
        ("jina-wide", "a gated network in slices", "--family jina --shape 1,48,4,3072 --positions 128 --head none",
         WINDOWED),
        ("jina-reglu", "a power of two of heads, relu",
         '--family jina --shape 2,52,4,37 --positions 128 --head none --set feed_forward_type="reglu"',
         WINDOWED),
        ("deberta-conv", "v2-xlarge's convolution, weights of its own for distances, legacy false",
         "--family deberta --shape 2,52,4,37 --positions 128 --head mlm --set legacy=false --set "
         'share_att_key=false --set pos_att_type=["c2p","p2c"] --set conv_kernel_size=3 --set '
         'conv_act="gelu" --set position_biased_input=true --set type_vocab_size=2 --set '
         'norm_rel_ebd="none"', WINDOWED),
        ("deberta-c2p", "one layer with a convolution, one term, a row for each distance",
         "--family deberta --shape 1,52,4,37 --positions 128 --head classification --set "
         'share_att_key=false --set pos_att_type=["c2p"] --set conv_kernel_size=3 --set '
         "position_buckets=-1", WINDOWED),
        ("deberta-p2c", "the other term; v3's 256 buckets up to 512",
         "--family deberta --shape 1,52,4,37 --positions 512 --head none --set share_att_key=false "
         '--set pos_att_type=["p2c"] --set position_buckets=256', [3, 131, 512]),
        ("deberta1-far", "the first version with positions in the input, beyond its distances",
         "--family deberta1 --shape 2,52,4,37 --positions 128 --head mlm --set legacy=false --set "
         "position_biased_input=true --set type_vocab_size=2 --set max_relative_positions=40", WINDOWED),
        ("eurobert-newer", "heads that share keys and values, biases, the first token is classified",
         '--family eurobert --shape 3,48,6,50 --positions 128 --scale 0.8 --head classification --set '
         'num_key_value_heads=2 --set attention_bias=true --set mlp_bias=true --set '
         'classifier_pooling="bos" --set rope_parameters={"rope_theta":900.0,"rope_type":"default"}',
         WINDOWED),
        ("eurobert-mean", "the mean of all tokens is classified",
         '--family eurobert --shape 1,36,3,50 --positions 128 --head classification --set '
         'classifier_pooling="mean"', WINDOWED),
        ("jina-reranker", "Jina's XLM-RoBERTa with a table of positions, without model_type; one label",
         '--family jina-roberta --shape 2,52,4,37 --positions 130 --head classification --labels 1 --set '
         'position_embedding_type="absolute" --set model_type=null', WINDOWED),
        ("ultrabert-published", "lists of windows and thetas, one head of keys, the mean is classified",
         '--family ultrabert --shape 3,36,3,50 --positions 128 --scale 0.8 --head classification --set '
         'num_key_value_heads=1 --set attention_windows=[6,0,6] --set rope_theta=[500.0,80000.0,500.0] --set '
         'classifier_pooling="mean"', WINDOWED),
        ("ultrabert-newer", "layer_types, rope_parameters, biases, two heads of keys",
         '--family ultrabert --shape 3,56,4,37 --positions 128 --scale 0.8 --head none --set num_key_value_heads=2 '
         '--set attention_bias=true --set mlp_bias=true --set sliding_window=5 --set '
         'layer_types=["full_attention","sliding_attention","full_attention"] --set '
         'rope_parameters={"full_attention":{"rope_theta":80000.0,"rope_type":"default"},'
         '"sliding_attention":{"rope_theta":500.0,"rope_type":"default"}}', WINDOWED),
        ("esmc-mlm", "a language model of proteins: norms of queries and keys, what layers add made smaller",
         "--family esmc --shape 3,48,4,60 --positions 128 --head mlm", WINDOWED),
        ("esmc-tokens", "biases, a token classifier of ESM C",
         "--family esmc --shape 2,48,4,60 --positions 128 --head tokens --labels 4 --set attention_bias=true "
         "--set mlp_bias=true", WINDOWED),
        ("t5", "a bias by distance, heads that are wider together than the hidden size; mean pooling",
         "--family t5 --shape 3,48,4,70 --positions 128 --head none --set d_kv=20", [*WINDOWED, 150]),
        ("t5-tokens", "the gated version, heads that are narrower",
         "--family t5-gated --shape 2,52,4,37 --positions 128 --scale 0.8 --head tokens --set d_kv=7", WINDOWED),
        ("mt5", "the word embeddings by their other name", "--family mt5 --shape 2,48,4,50 --positions 128 "
         "--head none", WINDOWED),
        ("esm1b", "positions in a table, a norm of the embeddings, masks without one",
         f"--family esm {shape} --head mlm --set emb_layer_norm_before=true --set "
         'position_embedding_type="absolute"', WINDOWED),
        ("esm1v", "masks that are like other tokens", f"--family esm {shape} --head none --set token_dropout=false "
         '--set position_embedding_type="absolute"', WINDOWED),
        ("modernbert-texts", "inputs as text, without segments",
         f"{MODERN} --head tokens --labels 3", None),
    ]


SEARCH = [33, 8, 32, 65]
FILLED = {"colbert", "multi-vector"}  # queries, filled up with tokens that nobody attends to


def search() -> list[tuple[str, str, str, list[int] | None]]:
    """Sparse vectors, and vectors of tokens with queries for late interaction."""
    bert, xlm, mpnet = (SHAPES[x] for x in ("bert", "xlm-roberta", "mpnet"))
    jina = "--family jina --shape 2,48,12,50 --positions 128 --scale 0.8"
    return [
        ("splade", "the greatest weight of any token", f"{bert} --head mlm --retrieval splade",
         [1, 100, 3, 90, 7, 95]),
        ("modernbert-splade", "the sum of weights whose logarithm is taken twice",
         f"{MODERN} --head mlm --retrieval splade-sum", [1, 2, 9, 17, 33]),
        ("qwen3-score", "of the last token, one token's logit minus another's",
         "--family qwen3 --shape 3,48,4,50 --positions 512 --scale 0.8 --retrieval logit-score", [*SEARCH, 300]),
        ("bge-m3", "weights and vectors of each token beside the embedding",
         f"{bert} --head none --m3", SEARCH),
        ("colbert", "HF_ColBERT with filled queries", f"{bert} --head none --prefix "
         "--retrieval colbert", SEARCH),
        ("xlm-roberta-colbert", "Dense modules with residuals; filled queries",
         f"{xlm} --head none --retrieval multi-vector", SEARCH),
        ("relative-key-colbert", "filled queries and distances multiplied with both",
         f"{bert} --head none --position-type relative_key_query --retrieval multi-vector", SEARCH),
        ("mpnet-colbert", "filled queries and a bias by distance",
         f"{mpnet} --head none --retrieval multi-vector", SEARCH),
        ("jina-colbert", "filled queries and ALiBi", f"{jina} --head none --retrieval multi-vector",
         SEARCH),
        ("jina-roberta-colbert", "jina-colbert-v2's kind: filled queries and rotary positions",
         "--family jina-roberta --shape 2,48,4,50 --positions 128 --scale 0.8 --head none --retrieval colbert",
         SEARCH),
        ("modernbert-colbert", "filled queries in windows",
         f"{MODERN} --set local_attention=132 --head none --retrieval multi-vector", SEARCH),
    ]


MODELS += relatives() + newer() + decoder_models.MODELS + search()

# Longer than what DeBERTa and relative keys attend to at once.
LONG = "--positions 1200 --scale 0.8 --head none"
MODELS += [
    ("modernbert-long", "positions far apart, and a window",
     f"--family modernbert --shape 2,36,3,50 {LONG} --set global_attn_every_n_layers=2", [1100, 5]),
    ("jina-long", "ALiBi far apart", f"--family jina --shape 1,48,12,50 {LONG}", [1100]),
    ("deberta-long", "keys in blocks with a row for each distance",
     f"--family deberta --shape 1,52,4,37 {LONG}", [1100]),
    ("relative-key-long", "keys in blocks with distances multiplied with queries and keys",
     f"--shape 1,52,4,37 {LONG} --position-type relative_key_query", [1100])]

FORMATS_SHAPE = "--shape 2,32,4,64 --positions 48 --labels 3"


def make_golden(directory: Path, seed: int, name: str, arguments: str,
                lengths: list[int] | None) -> None:
    model = directory / name
    options = arguments.split()
    make_model.make(["-o", str(model), "--seed", str(seed), *(x for x in options if x != "--m3")])
    config = reference.read_config(model)
    if "--m3" in options:
        write_m3(model, config.hidden, seed)
    if lengths is None:
        tokenizer = WordPiece(model)
        inputs = [Input(*tokenizer.encode(texts), texts) for texts in TEXTS]
    else:
        inputs = random_inputs(config, len(lengths), lengths, seed)
        for item in inputs:
            if config.padding is not None and len(item.ids) > 4:  # in a text it gets no position
                item.ids[len(item.ids) // 2] = config.padding
            if FILLED.intersection(options):
                item.unattended = len(item.ids) // 3
    reference.write_reference(directory / f"{name}.safetensors", reference.compute(model, inputs),
                              inputs, "<f8", "all", "tools/reference/reference.py, float64")


def write_m3(model: Path, hidden: int, seed: int) -> None:
    """BGE-M3's sparse_linear.pt and colbert_linear.pt."""
    rng = np.random.default_rng([seed, 3])
    for name, columns in (("sparse", 1), ("colbert", 23)):
        weight = rng.standard_normal((columns, hidden)) / hidden ** 0.5
        weight_files.write_zip(model / f"{name}_linear.pt", {
            "weight": weight.astype("<f4"), "bias": 0.1 * np.ones(columns, "<f4")}, {"weight"})


def make_dense(directory: Path) -> None:
    """A dense module's weights for the models st-mean, st-cls and st-max: 48 to 20."""
    directory.mkdir(exist_ok=True)
    rng = np.random.default_rng(48)
    tensors = {"linear.weight": rng.standard_normal((20, 48)).astype("<f4"),
               "linear.bias": rng.standard_normal(20).astype("<f4")}
    for name in ("safetensors", "legacy"):
        weight_files.FORMATS[name](directory, tensors)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: make_goldens.py DIR")
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, _, arguments, lengths in MODELS:  # each by a seed of its own, whatever the others are
        make_golden(directory, zlib.crc32(name.encode()), name, arguments, lengths)
    for head in ("classification", "pretraining"):
        model = directory / "formats" / head / "model"
        make_model.make(["-o", str(model), "--head", head, *FORMATS_SHAPE.split()])
        weight_files.write_formats(model, model.parent)
    make_dense(directory / "dense")
    span_models.write_span_model(directory, "gliner")
    span_models.write_span_model(directory, "gliner-words", by_words=True)
    index = [{"name": name, "for": purpose, "model": name, "reference": f"{name}.safetensors"}
             for name, purpose, _, _ in MODELS]
    (directory / "index.json").write_text(json.dumps({"models": index}, indent=1) + "\n")


if __name__ == "__main__":
    main()
