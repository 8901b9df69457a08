// SPDX-License-Identifier: Apache-2.0
//
// The settings that only some families have, for their rows in the tables. Published code defines
// what they mean and which are optional; unsupported ones are refused by name.
#pragma once

#include "models/config/config.h"

namespace bert::models {

class JsonFile;

Config::ClassifierPooling read_first_or_mean(const JsonFile& file);

// For the layers of language models: query heads may share keys and values.
void read_key_heads(const JsonFile& file, Config& config);
void read_heads(const JsonFile& file, Config& config);
void read_llama_layers(const JsonFile& file, Config& config);
// Classifiers read the last token that is no padding. standard: its id in files that leave it out.
void read_last_token(const JsonFile& file, Config& config, int standard = -1);
bool read_causality(const JsonFile& file);  // is_causal

void read_ernie(const JsonFile& file, Config& config);
void read_dpr(const JsonFile& file, Config& config);
void read_rem_bert(const JsonFile& file, Config& config);
void read_mobile_bert(const JsonFile& file, Config& config);
void read_longformer(const JsonFile& file, Config& config);
void read_esm(const JsonFile& file, Config& config);
void read_esmc(const JsonFile& file, Config& config);
void read_modern_bert(const JsonFile& file, Config& config);
void read_nomic_bert(const JsonFile& file, Config& config);
void read_gte(const JsonFile& file, Config& config);
void read_jina_bert(const JsonFile& file, Config& config);
void read_jina_roberta(const JsonFile& file, Config& config);
void read_deberta(const JsonFile& file, Config& config);
void read_euro_bert(const JsonFile& file, Config& config);
void read_ultra_bert(const JsonFile& file, Config& config);
void read_neo_bert(const JsonFile& file, Config& config);
void read_privacy_filter(const JsonFile& file, Config& config);
void read_llama(const JsonFile& file, Config& config);
void read_llama_without_mask(const JsonFile& file, Config& config);
void read_mistral(const JsonFile& file, Config& config);
void read_gemma3(const JsonFile& file, Config& config);
void read_embedding_gemma2(const JsonFile& file, Config& config);
void read_qwen2(const JsonFile& file, Config& config);
void read_qwen3(const JsonFile& file, Config& config);
void read_qwen3_without_mask(const JsonFile& file, Config& config);
void read_voyage(const JsonFile& file, Config& config);
void read_jina_v5_decoder(const JsonFile& file, Config& config);
void read_t5(const JsonFile& file, Config& config);
void read_clip(const JsonFile& file, Config& config);
void read_chinese_clip(const JsonFile& file, Config& config);
void read_bart(const JsonFile& file, Config& config);

}  // namespace bert::models
