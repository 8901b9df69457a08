// SPDX-License-Identifier: Apache-2.0
#include "models/config/texts/logit_score.h"

#include "models/config/sentence_settings.h"
#include "models/weights/json_file.h"
#include "tokenizer/files/files.h"

namespace bert::models {

std::vector<int> read_score_tokens(const std::string& directory, int vocabulary) {
  const ModuleList list(directory);
  if (!list.has("LogitScore")) return {};
  if (list.modules.size() != 2 || list.modules[1].name != "LogitScore") {
    list.fail(1, "expected Transformer and LogitScore alone, in this order");
  }
  const JsonFile file(list.modules[1].folder + "/config.json");
  const auto id = [&](const char* field) {
    return static_cast<int>(file.integer(field, 0, vocabulary - 1));
  };
  std::vector<int> tokens = {id("true_token_id")};
  if (file.has("false_token_id")) tokens.push_back(id("false_token_id"));
  return tokens;
}

std::optional<ChatTemplate> read_chat_template(const std::string& directory,
                                               const std::string& prompt) {
  const std::optional<JsonFile> settings = read_sentence_settings(directory);
  const nlohmann::json* modality = settings ? settings->find("modality_config") : nullptr;
  if (modality && !modality->contains("message")) return std::nullopt;
  ChatSettings chat{.prompt = prompt};
  if (settings && settings->has("processing_kwargs")) {
    const JsonField kwargs = settings->at("processing_kwargs");  // of the chat template alone
    chat.adds_generation_prompt = kwargs.has("chat_template") &&
                                  kwargs.at("chat_template").at("add_generation_prompt").boolean();
  }
  std::string path = directory + "/chat_template.jinja";
  if (is_there(path)) {
    return render_chat_template(tokenizer::read_file(path), path, chat);
  }
  path = directory + "/tokenizer_config.json";
  if (is_there(path)) {
    const JsonFile file(path);
    if (file.has("chat_template")) {
      return render_chat_template(file.text("chat_template"), path + ": chat_template", chat);
    }
  }
  if (!modality) return std::nullopt;
  settings->fail("modality_config", "no \"message\", as there is no chat_template.jinja");
}

}  // namespace bert::models
