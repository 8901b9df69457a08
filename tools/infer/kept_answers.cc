// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/kept_answers.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace bert::tools {
namespace {

// Returns how many answers there are.
int64_t finish(AnswerWriter& writer, Written written, const Progress& progress) {
  if (written == Written::so_far) {
    try {
      writer.finish();
      writer.flush();
      return progress.lines();
    } catch (const OutputError&) {  // there is no room for all of them
    }
  }
  return written == Written::whole ? progress.lines() : writer.finish_cut();
}

}  // namespace

std::string keep_answers(OutputFile& output, AnswerWriter* writer, Written written,
                         const Progress& progress) {
  try {
    if (writer && (finish(*writer, written, progress) > 0 || output.resumed())) {
      return writer->keep_partial();
    }
    if (output.resumed()) return output.keep_partial();
  } catch (const OutputError&) {  // there is no room for anything
  }
  if (output.resumed()) return "";
  writer ? writer->discard() : output.discard();
  return "";
}

void rethrow_with(const std::exception_ptr& error, const std::string& kept) {
  if (kept.empty()) std::rethrow_exception(error);
  std::string reason;
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    reason = "out of memory";
  } catch (const std::exception& what) {
    reason = what.what();
  }
  throw std::runtime_error(fmt::format("{}; the answers so far are in {}", reason, kept));
}

void end_by_signal(const Stop& stop, const std::string& kept) {
  spdlog::error("{}: the answers so far {}", strsignal(stop.signal()),
                kept.empty() ? "have been written" : "are in " + kept);
  stop.end_process();
}

}  // namespace bert::tools
