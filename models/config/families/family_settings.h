// SPDX-License-Identifier: Apache-2.0
//
// The settings that only some families have, for their rows in the tables. Published code
// says what they mean and which may be left out; what is not supported is refused by its name.
#pragma once

namespace bert::models {

class JsonFile;
struct Config;

void read_ernie(const JsonFile& file, Config& config);
void read_modern_bert(const JsonFile& file, Config& config);
void read_nomic_bert(const JsonFile& file, Config& config);
void read_gte(const JsonFile& file, Config& config);
void read_jina_bert(const JsonFile& file, Config& config);
void read_jina_roberta(const JsonFile& file, Config& config);
void read_deberta(const JsonFile& file, Config& config);
void read_euro_bert(const JsonFile& file, Config& config);
void read_ultra_bert(const JsonFile& file, Config& config);
void read_gemma3(const JsonFile& file, Config& config);
void read_t5(const JsonFile& file, Config& config);

}  // namespace bert::models
