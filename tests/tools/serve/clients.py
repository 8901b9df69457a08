# SPDX-License-Identifier: Apache-2.0
"""What the clients from PyPI get from bert-serve, as JSON: clients.py URL. Run by clients_test.py."""
import json
import sys

import openai
from huggingface_hub import InferenceClient
from langchain_openai import OpenAIEmbeddings

URL = sys.argv[1]
TEXTS = ["a man is playing the guitar.", "two dogs", "the é café, and more 日本"]


def hub(name: str) -> InferenceClient:
    return InferenceClient(f"{URL}/models/{name}", token="sesame")


def missing(client: openai.OpenAI) -> str:
    try:
        client.embeddings.create(model="none", input="a")
        return "an answer"
    except openai.APIStatusError as error:
        return f"{error.status_code} {error.code}"


def langchain() -> list[list[float]]:
    # Without check_embedding_ctx_length=False it sends ids of OpenAI's own vocabulary.
    embeddings = OpenAIEmbeddings(model="encoder", base_url=f"{URL}/v1", api_key="sesame",
                                  check_embedding_ctx_length=False)
    return embeddings.embed_documents(TEXTS)


def main():
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="sesame")
    rows = client.embeddings.create(model="encoder", input=TEXTS).data
    print(json.dumps({
        "models": [client.models.retrieve(model.id).id for model in client.models.list()],
        "embeddings": [row.embedding for row in rows],
        "missing": missing(client),
        "features": hub("encoder").feature_extraction(TEXTS).tolist(),
        "raw_features": hub("encoder").feature_extraction(TEXTS, normalize=False).tolist(),
        "labels": hub("classes").text_classification(TEXTS[0]),
        "entities": hub("tags").token_classification(TEXTS[0]),
        "answer": hub("qa").question_answering(question="who plays", context="a man plays music"),
        "mask": hub("mlm").fill_mask("a [MASK] is playing."),
        "similarities": hub("encoder").sentence_similarity(TEXTS[0], other_sentences=TEXTS[1:]),
        "zero_shot": hub("classes").zero_shot_classification(TEXTS[0], ["music", "dogs"]),
        "langchain": langchain(),
    }))


if __name__ == "__main__":
    main()
