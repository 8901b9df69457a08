// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/options/infer_options.h"

namespace bert::tools {

const char* const InferCommandLine::kManual =
    R"(bert-infer: run a BERT encoder from an unmodified Hugging Face directory

  bert-infer [OPTIONS] FIRST [SECOND]   one text or pair; text on a terminal, JSON in a pipe
  bert-infer [OPTIONS] FIRST CHOICE...  the same for multiple choice, with up to 31 choices
  bert-infer [OPTIONS] -i FILE          many inputs, one per line; prints JSON Lines
  ... | bert-infer [OPTIONS]            the same from a pipe
  bert-infer info [-m DIR] [--json]     what would be loaded and used, and the memory it takes
  bert-infer merge -o FILE PART...      the answers of all shards in one file

Model
  -m, --model DIR        config.json, the weights and the tokenizer's files, as downloaded
                         (default: the demo model that comes with bert-infer). ORG/NAME or
                         ORG/NAME@REVISION is a model in Hugging Face's cache on this machine
                         (HF_HOME); nothing is downloaded
      --precision P      f32     agrees with Hugging Face to the fifth decimal
                         bf16    three quarters of the memory; faster if the processor multiplies
                                 bf16
                         int8    half the memory, a third of the time; about one label in a
                                 thousand changes
                         auto    f32, or int8 if bert-convert wrote DIR in int8 (default)
      --backend B        matrix products by onednn, by panels (bert-infer's own kernels), or by
                         auto, the faster of the two on this processor (default)
      --workers N        batches computed at the same time, with one copy of the weights
      --threads N        threads per worker; without --workers, there is one worker. Default: as
                         many single-threaded workers as the process may use threads
      --batch-tokens N   the most tokens per batch (default 4096); a token takes about 20 times the
                         hidden size in bytes, besides the weights. These three options do not
                         change results
      --max-length N     truncate texts to N tokens, special tokens included (default: the model's)

Input
  -i, --input FILE       the format follows from the ending; - is standard input:
                           .tsv    first, or first<TAB>second, or first<TAB>choice<TAB>choice...;
                                   no quoting
                           .csv    with a header that names the columns first and second, or
                                   first and choice, choice...; quoted as in RFC 4180. A quote
                                   within a field that does not begin with one is an error
                           .txt    one text per line
                           .jsonl  {"first": "text", "second": "text"}, where second is optional
                                   or null; {"ids": [101, ...], "type_ids": [0, ...]}, used as
                                   they are, where type_ids default to 0;
                                   {"first": ..., "choices": [...]}
                         What gzip or zstd compressed is read as it is (.tsv.gz, .jsonl.zst, pipes)
      --input-format F   tsv, csv, txt or jsonl, whatever the ending (default for standard input:
                         tsv)
      --keep KEY,...     other keys of .jsonl, or columns of .csv, to pass through: they come back
                         in "kept" with the answer. Keys that are not named are errors
      --on-error E       stop: a bad line ends the run (default)
                         skip: it is answered with an error; the exit status is 0, and the
                         summary counts the lines and quotes the first error

Task and output
      --task T           auto        what the checkpoint's head is for, else embed (default)
                         logits      one raw score per label; per token and label if the head
                                     is for tokens
                         embed       one vector per input, pooled as the directory configures it
                         similarity  of the two texts: the cosine of their embeddings, or what
                                     similarity_fn_name in the directory says; of a
                                     query and a document for late interaction, the sum of each
                                     vector's greatest product; the product of sparse vectors
                         sparse      the vocabulary's tokens with their weights (SPLADE, BGE-M3)
                         multi-vector
                                     a vector for each token (ColBERT, PyLate, BGE-M3)
                         fill-mask   the most probable tokens for each mask token
                         tag         words with labels, and the entities that they make up; by a
                                     GLiNER, the entities of --labels
                         answer      the part of the second text that answers the first
                         choose      which of several choices goes with the text
                         zero-shot   which of --labels fit the text, by an entailment (NLI) model
                                     that was not trained on them
                         rank        the texts by how well they answer --query, best first: by a
                                     model with one label (a cross-encoder), or by their vectors
                         search      the texts of --corpus that are most similar to each text
                         hidden      the last hidden state of every token, or those of --layers
                         attention   the attention probabilities of --layers, by head
                         tokens      ids and pieces; needs only the tokenizer's files, and so knows
                                     neither the model's limit of tokens nor its prompts
      --top-k N          fill-mask: tokens per mask (default 5); logits: the N most probable
                         labels; sparse: the N greatest weights; rank: the N best texts; zero-shot:
                         the N best labels (default: all); search: texts of the corpus (default 10);
                         answer: the N best answers
      --labels A,B,...   zero-shot, tag: the labels
      --hypothesis TEXT  zero-shot: the sentence that follows from a text with the label {}
                         (default: "This example is {}.")
      --multi-label      zero-shot: each label by itself; their probabilities do not add up to 1;
                         tag: the same words may have several --labels
      --nested           tag: an entity of --labels may lie within another
      --query TEXT       rank: what the texts should answer
      --corpus FILE      search: a file of texts, in any of the formats above by its ending; - is
                         standard input, a text per line. It is read once, and its vectors and texts
                         are kept in memory; other keys and columns are ignored. Or .npy: vectors
                         from --task embed, or of images or texts by another encoder of the same
                         space; matches then have no "text"
      --role R           multi-vector: the texts are each a query, which is marked and filled up
                         with mask tokens, or a document (default), whose punctuation is left out
      --threshold P      logits, zero-shot: the labels with a probability of at least P;
                         tag: the entities of --labels with a greater one (default 0.5)
      --truncate-dim N   embed, similarity: the first N numbers of each vector
      --normalize        embed: vectors of length 1 (after --truncate-dim)
      --stride N         answer, tag: a text that does not fit is read in windows that overlap by
                         N tokens (default 128; half a window at most)
      --answer-tokens N  answer: the most tokens of an answer (default 15)
      --aggregation A    tag: how tokens become words and entities, as in Hugging Face's pipeline:
                         none, simple, first, average or max; or auto (default): first, or for
                         BIOES labels (B-, I-, E- and S-KIND) the most probable spans
      --layers N,...     hidden: 0 is the input of the first layer, -1 the last hidden state;
                         attention: 0 is the first layer, -1 the last
      --prompt NAME      embed, logits: put the prompt that config_sentence_transformers.json
                         calls NAME before each first text
      --adapter NAME     add a LoRA adapter to the weights: one in the model's files, by name (such
                         as jina-embeddings-v3's retrieval.query), or a folder that PEFT wrote
  -o, --output FILE      the format follows from the ending; - is standard output, JSON Lines:
                           .jsonl        any task
                           .tsv          logits, embed: a header line, then one line per input
                           .npy          logits, embed: float32 [inputs, columns]
                           .safetensors  logits, embedding: [inputs, columns]; hidden: [tokens, H]
                                         and vectors: [rows, columns], where input i owns the
                                         rows from starts[i] to starts[i + 1]
      --html FILE        instead of --output, an HTML page in one file that needs no network, of
                         at most 100 inputs:
                         attention: by layer (default: all) and head, between tokens;
                         hidden with --layers 0: the embedding layer, each token's rows and their
                         sum, and how similar positions are to each other
      --projector DIR    embed, instead of --output: vectors.tsv and metadata.tsv (the texts, and
                         what --keep names) for the embedding projector, and index.html, a page with
                         their principal components and nearest neighbours
      --output-format F  jsonl, tsv, npy, safetensors, or text for people, whatever the ending

Many machines
      --shard I/N        of the input's lines, answer every N-th from the I-th on (0/4 to 3/4). Each
                         answer keeps its index in the whole input; merge puts them together.
                         slurm/N: I is the number of this task of a job array, from 0 on; slurm:
                         N too is the array's, which begins at 0 or 1 and leaves no number out
      --resume           go on after the last whole answer in FILE.partial, which an interrupted run
                         of the same command has left; nothing is done if FILE is there. For .jsonl,
                         .tsv and .npy

Other
  -q, --quiet            only errors on standard error
  -h, --help             this text
      --version          versions of this and of oneDNN, backend, instruction set
      --                 what follows is text, even if it begins with a dash

JSON Lines come in input order (but for rank); their numbers read back to the same float32:
  {"index": 0, "logits": [0.25, -1.5], "label": "yes", "probability": 0.85, "tokens": 17,
   "truncated": false}
  {"index": 1, "error": "the line is empty", "line": 2}
  label and probability are there only if the head's scores are probabilities (softmax or
  sigmoid). embed gives "embedding"; hidden gives "hidden" and, if the model has one, "pooler";
  tokens gives "ids", "type_ids", "tokens" and "offsets"; fill-mask "masks"; tag "entities",
  "words" and "windows"; answer "answer", "begin", "end", "score", "no_answer" and "windows", and
  with --top-k "others", the next best; choose "choice", "string", "probabilities" and "logits";
  similarity "similarity"; sparse "sparse"; multi-vector "vectors"; --top-k and --threshold
  "labels", as does zero-shot; rank, a line per text, best first, "score" and "text"; search
  "matches", each with "corpus_index", "score" and "text"; --keep "kept", before the answer.
  Positions count Unicode characters.

A bad line stops the run with FILE:LINE and the reason; so do a full disk, Ctrl-C and SIGTERM. The
answers so far are kept: an output file is written as FILE.partial, which gets its name when it is
whole. A second signal ends the run at once. Empty lines at the end of the input do not matter.
Notes, progress (on a terminal: inputs, rate and time left) and a final summary go to standard
error. Control sequences are escaped (\x1b), and the middle of a message over a few hundred
characters is omitted.
Exit status: 0 success, 1 failure, 2 wrong usage.

Examples
  bert-infer "A man is playing a guitar." "A man plays music."
  bert-infer -m DIR --task embed -i texts.tsv -o vectors.npy
  cut -f 1,2 pairs.tsv | bert-infer -m DIR > answers.jsonl
  echo '{"first": "Where are my keys?"}' | bert-infer -m DIR --input-format jsonl
  bert-infer -m DIR --task tokens "unaffable"
  bert-infer -m DIR "Paris is the [MASK] of France."
  bert-infer -m DIR "Where was she born?" "$ARTICLE"
  bert-infer -m DIR --labels person,city "Ada Lovelace lived in London."
  bert-infer --task zero-shot --labels music,weather "It rains in Bergen."
  bert-infer -m DIR --task rank --query "Who plays?" --top-k 3 -i passages.txt
  bert-infer -m DIR --task search --corpus sentences.txt "Who plays?"
  bert-infer info -m DIR
  bert-infer -m DIR --task attention --html attention.html "A man plays." "Somebody plays."
  bert-infer -m DIR -i pairs.tsv --shard 2/8 --resume -o part-2.jsonl
)";

}  // namespace bert::tools
