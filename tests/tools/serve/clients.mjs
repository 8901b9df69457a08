// SPDX-License-Identifier: Apache-2.0
//
// What the clients from npm get from bert-serve, as JSON: clients.mjs URL NODE_MODULES. Run by clients_test.py.
import { createRequire } from "node:module";

const [url, modules] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const OpenAI = require("openai").default;
const { InferenceClient } = require("@huggingface/inference");
const { CohereClient, CohereClientV2 } = require("cohere-ai");

const texts = ["a man is playing the guitar.", "two dogs", "the é café, and more 日本"];
const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "sesame" });
const hub = new InferenceClient("sesame");
const at = (name) => ({ endpointUrl: `${url}/models/${name}` });
const query = { model: "ranks", query: "who eats", documents: ["a man", "two dogs eat", "dogs"], topN: 2 };

const calls = {
  models: async () => (await openai.models.list()).data.map((model) => model.id),
  embeddings: async () =>
    (await openai.embeddings.create({ model: "encoder", input: texts })).data.map((row) => row.embedding),
  missing: () =>
    openai.embeddings.create({ model: "none", input: "a" }).catch((error) => `${error.status} ${error.code}`),
  features: () => hub.featureExtraction({ ...at("encoder"), inputs: texts }),
  raw_features: () =>
    hub.featureExtraction({ ...at("encoder"), inputs: texts, parameters: { normalize: false } }),
  labels: () => hub.textClassification({ ...at("classes"), inputs: texts[0] }),
  entities: () => hub.tokenClassification({ ...at("tags"), inputs: texts[0] }),
  answer: () =>
    hub.questionAnswering({ ...at("qa"), inputs: { question: "who plays", context: "a man plays music" } }),
  mask: () => hub.fillMask({ ...at("mlm"), inputs: "a [MASK] is playing." }),
  similarities: () =>
    hub.sentenceSimilarity({ ...at("encoder"), inputs: { source_sentence: texts[0], sentences: texts.slice(1) } }),
  zero_shot: () =>
    hub.zeroShotClassification({
      ...at("classes"), inputs: texts[0], parameters: { candidate_labels: ["music", "dogs"] } }),
  cohere: async () =>
    (await new CohereClientV2({ token: "sesame", environment: url }).rerank(query)).results,
  cohere_v1: async () =>
    (await new CohereClient({ token: "sesame", environment: url }).rerank(query)).results,
};

const answers = {};
for (const [name, call] of Object.entries(calls)) {
  try {
    answers[name] = await call();
  } catch (error) {
    answers[name] = String(error);
  }
}
console.log(JSON.stringify(answers));
