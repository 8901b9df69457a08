// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/serve_options.h"

namespace bert::tools::serve {

const char* const ServeOptions::kManual = R"(bert-serve: serve models over HTTP

  bert-serve [-m [NAME=]DIR]... [OPTIONS]

For clients of OpenAI, text-embeddings-inference, Hugging Face, Cohere, Jina and the Open
Inference Protocol. GET /docs lists the routes.

  -m, --model [NAME=]DIR   a model directory, as for bert-infer; may be given several times. A
                           request may name one, by "model" in its body or /models/NAME before the
                           path; others go to the first that can answer. Without a model: the demo
                           model
  --host ADDRESS           listen on this address (127.0.0.1; 0.0.0.0 is all)
  --port N                 and port (3000; 0: any free one)
  --api-key KEY            requests need the header Authorization: Bearer KEY. The environment hides
                           it better than the command line

Limits
  --max-concurrent N       requests that are answered at a time (512); others get 429, unless
                           their client has less than its share
  --client-header NAME     the header by which a trusted proxy names the client: X-Forwarded-For,
                           whose last element counts. Default: a client is an IP address
  --max-batch-tokens N     tokens that are computed at a time (16384)
  --max-client-batch N     inputs of a request (2048)
  --max-body BYTES         size of a request's body (8000000)
  --max-bodies BYTES       of all bodies and answers over 64 kB together (512000000); others get 503,
                           and a request whose answer would be larger by itself 422
  --max-connections N      open connections (4096)
  --timeout SECONDS        for a request, with its time in the queue (60)
  --auto-truncate BOOL     whether inputs that are too long are cut (true) or refused (false), where
                           the request does not say it

Computing
  --precision P            auto, f32, bf16 or int8, as for bert-infer (auto)
  --adapter [NAME=]A       a LoRA adapter, as for bert-infer; with NAME= for that model alone
  --workers N              batches that are computed at a time
  --threads N              threads of each
  --http-threads N         threads that read requests and serialise responses (a quarter of
                           the processors)
  --access-log FILE        a line of JSON for each response; - is standard output (none)

Other
  -h, --help               print this
  --version                print the versions, backend and instruction set

Each long option is also an environment variable: --max-body is BERT_SERVE_MAX_BODY.
BERT_SERVE_MODEL and BERT_SERVE_ADAPTER hold several values with colons between them.

SIGTERM and SIGINT: new requests are refused, those that were accepted are answered, and the program
exits with 0.
)";

}  // namespace bert::tools::serve
