// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/c_api/boundary/c_call.h"

struct bert_model {
  explicit bert_model(const bert::Model& loaded);

  bert::Model model;
  std::string task, scores;  // the names of Info's enumerators
  std::map<std::string, std::vector<bert_text>>
      texts;  // by name: views of model.info() and of these
};
