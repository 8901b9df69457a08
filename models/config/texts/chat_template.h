// SPDX-License-Identifier: Apache-2.0
//
// The chat template of a language model that scores pairs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bert::models {

// What a chat template makes of a query and a document: text with the two in it.
struct ChatTemplate {
  enum class Part { text, query, document };
  struct Piece {
    Part part;
    std::string text;  // of Part::text
    bool operator==(const Piece&) const = default;
  };
  std::vector<Piece> pieces;
};

struct ChatSettings {
  std::string prompt = {};  // the content of the message of the role "system"; "": there is none
  bool adds_generation_prompt = false;
};

// Renders the template as sentence-transformers' CrossEncoder has it rendered: with a message of
// the role "query", one of the role "document", and if there is a prompt one of the role "system".
// Of Jinja, for which Debian has no library in C++, it knows what published rerankers use: text,
// comments, {{ VALUE }}, {% set NAME = VALUE %} and {% if VALUE %} with else, where a value is a
// string, a name, add_generation_prompt, or the content of the first message of a role:
//
//   messages | selectattr("role", "eq", "query") | map(attribute="content") | first
//   (messages | selectattr("role", "eq", "query") | first).content
//
// with default("...") for a role that no message has, and + or ~ between values. Throws
// std::runtime_error for anything else, and for templates that leave out the query or the document.
// file: for messages.
ChatTemplate render_chat_template(std::string_view source, const std::string& file,
                                  const ChatSettings& settings);

}  // namespace bert::models
