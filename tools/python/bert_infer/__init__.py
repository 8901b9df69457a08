# SPDX-License-Identifier: Apache-2.0
"""BERT encoders from unmodified Hugging Face directories, on the CPU, with NumPy alone.

    from bert_infer import CrossEncoder, SentenceTransformer, pipeline

    model = SentenceTransformer("sentence-transformers/all-MiniLM-L6-v2")  # or a directory
    embeddings = model.encode(["A man plays.", "Somebody is playing."])      # [2, 384] float32
    scores = CrossEncoder("path/to/reranker").predict([("query", "passage")])  # [1]
    answers = pipeline("text-classification", "path/to/model")("A fine film.")

Model and Tokenizer are the C++ library's own functions. Letters in shapes: N inputs, S tokens of one
input (special tokens included), H hidden size, A attention heads, L layers, C labels. What the
library refuses raises an Error of one sentence; arguments that make no sense raise a TypeError or a
ValueError. Results are bit-for-bit those of the program bert-infer, whatever else is in a call.
"""
from bert_infer._core import Encoding, Error, demo_model, version
from bert_infer.cross_encoder import CrossEncoder
from bert_infer.model import Info, Model, Options, Tokenizer, find_model, max_sim
from bert_infer.pipelines import Pipeline, pipeline
from bert_infer.results import Answer, AnswerSpan, Blank, Choice, Fill, Hidden, Span, SparseVector, Tags
from bert_infer.sentence_transformer import SentenceTransformer

__version__ = version()
__all__ = ["Answer", "AnswerSpan", "Blank", "Choice", "CrossEncoder", "Encoding", "Error", "Fill",
           "Hidden", "Info", "Model", "Options", "Pipeline", "SentenceTransformer", "Span",
           "SparseVector", "Tags", "Tokenizer", "demo_model", "find_model", "max_sim",
           "pipeline", "version"]
