// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/pages/page_writer.h"

#include <stdexcept>

#include <fmt/format.h>

#include "tools/infer/pages/page_data.h"
#include "tools/report/environment.h"
#include "tools/report/report_page.h"

namespace bert::tools {
namespace {

class PageWriter final : public AnswerWriter {
 public:
  PageWriter(const LoadedModel& loaded, OutputFile& file) : AnswerWriter(file), loaded_(loaded) {}

  void write(const InputName& input, const Answers& answers, size_t i) override {
    constexpr size_t kMost = 100;
    if (inputs_.size() == kMost) {
      throw std::runtime_error(
          fmt::format("--html: a page holds at most {} inputs, and there are more", kMost));
    }
    nlohmann::ordered_json page = answers.page(i);
    page["index"] = input.index;
    page["truncated"] = answers.size(i).truncated;
    inputs_.push_back(std::move(page));
  }

  void flush() override {}  // there is nothing to see before the end

  void finish() override {
    const bool embeds = loaded_.task == Task::layers;
    nlohmann::ordered_json data = {{"model", loaded_.directory},
                                   {"environment", describe_environment(*loaded_.model)},
                                   {"inputs", inputs_}};
    if (embeds) data["positions"] = position_similarities(*loaded_.model);
    file_.append(report_page(embeds ? PageKind::embeddings : PageKind::attention, data));
  }

 private:
  const LoadedModel& loaded_;
  nlohmann::ordered_json inputs_ = nlohmann::ordered_json::array();
};

}  // namespace

std::unique_ptr<AnswerWriter> make_page_writer(const LoadedModel& loaded, OutputFile& file) {
  return std::make_unique<PageWriter>(loaded, file);
}

}  // namespace bert::tools
