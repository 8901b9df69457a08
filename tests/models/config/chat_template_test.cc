// SPDX-License-Identifier: Apache-2.0
//
// Pairs in the chat template of a language model that scores them.
// tests/transformers/sentence_test.py compares the same with sentence-transformers.
#include "models/config/texts/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using models::ChatTemplate;
using models::render_chat_template;
using test::CopiedModel;
using test::load_error;
using testing::HasSubstr;

const std::string kFirst = R"( | map(attribute="content") | first)";
const std::string kQuery = R"(messages | selectattr("role", "eq", "query"))" + kFirst;
const std::string kDocument = R"(messages | selectattr('role', 'equalto', 'document'))" + kFirst;
const std::string kSystem = R"(messages | selectattr("role", "==", "system"))" + kFirst;

// The query as Q and the document as D.
std::string render(const std::string& source, const std::string& prompt = "", bool adds = false) {
  std::string out;
  for (const auto& [part, text] : render_chat_template(source, "file", {prompt, adds}).pieces) {
    out += part == ChatTemplate::Part::query      ? "Q"
           : part == ChatTemplate::Part::document ? "D"
                                                  : text;
  }
  return out;
}

std::string render_error(const std::string& source) {
  try {
    render(source);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(ChatTemplate, IsRenderedAsJinjaDoes) {
  EXPECT_EQ(render("{{" + kQuery + "}} {{ " + kDocument + " }}\n"), "Q D");
  EXPECT_EQ(render("{%- set q = " + kQuery + " -%}\n\n {%- set d = " + kDocument +
                   " -%}\n<q>: {{ q }}\n<d>: {{- d }}\n\n"),
            "<q>: Q\n<d>:D\n");
  EXPECT_EQ(render("  {# a {{ note }} #}\r\n\t{% set q = " + kQuery + " %}\r\na\n  {{q}}{{" +
                   kDocument + " }}\n  b{ # }"),
            "a\n  QD\n  b{ # }");
  EXPECT_EQ(render("{{" + kQuery + "}}  {% set x = 'a' %}{# a -#}\n \n{{" + kDocument + "}}"),
            "Q  D");
  EXPECT_EQ(render(" x {% set q = " + kQuery + " +%}\n{{ 'a\\n' + q ~ \"b\\\\\" -}} \n {{" +
                   kDocument + "}}"),
            " x \na\nQb\\D");
  EXPECT_EQ(
      render("{{ (messages|selectattr('role','eq','query')|list|first).content }}" +
             std::string("{{ (messages|selectattr('role','eq','document')|first)['content'] }}")),
      "QD");
}

TEST(ChatTemplate, HasThePromptAsTheSystemsMessage) {
  const std::string source =
      "{{ " + kSystem + " | default('find') }}: {{" + kQuery + "}}{{" + kDocument + "}}";
  EXPECT_EQ(render(source), "find: QD");
  EXPECT_EQ(render(source, "search"), "search: QD");
  EXPECT_EQ(render("{{ " + kSystem + " }}{{" + kQuery + "}}{{" + kDocument + "}}"), "QD");
}

TEST(ChatTemplate, MayDependOnWhetherAnAnswerIsToFollow) {
  const std::string source =
      "{{" + kQuery + "}}{{" + kDocument + "}}{% set i = " + kSystem +
      " %}{% if add_generation_prompt %}\n{% if i is defined %}{{ i }}{% else "
      "%}find{% endif %}!{%- set i = 'a' %}{% endif %}{% if not i %}.{% endif %}";
  EXPECT_EQ(render(source, "", true), "QDfind!");
  EXPECT_EQ(render(source, "search", true), "QDsearch!");
  EXPECT_EQ(render(source, "search"), "QD");
  EXPECT_EQ(render(source), "QD.");
  EXPECT_EQ(render("{{ task | default('find') }}{% if task is not defined %}!{% else %}{{ task "
                   "}}{% endif %}" +
                   source),
            "find!QD.");
  EXPECT_THAT(render_error(source + "{% if i %}"), HasSubstr("an if does not end"));
  EXPECT_THAT(render_error(source + "{% endif %}"),
              HasSubstr("found 'endif %}', expected set, if"));
  EXPECT_THAT(render_error("{% if " + kQuery + " %}"), HasSubstr("found a condition on the texts"));
}

TEST(ChatTemplate, MayDependOnWhetherThereIsAMessage) {
  const std::string both = "{{" + kQuery + "}}{{" + kDocument + "}}",
                    set = R"({% set s = messages | selectattr("role", "eq", "system") )";
  const std::string source =
      both + set + "| first %}{% if s is defined %}{{ s.content }}{% else %}find{% endif %}";
  EXPECT_EQ(render(source, "search"), "QDsearch");
  EXPECT_EQ(render(source), "QDfind");
  EXPECT_EQ(render(both + set + "| first %}{% if s is not defined %}.{% endif %}", "a"), "QD");
  for (const char* always : {"", "| list", "| map(attribute='content')"}) {
    const std::string list = set + always + " %}{% if s is defined %}!{% endif %}";
    EXPECT_EQ(render(both + list), "QD!") << always;
  }
  EXPECT_EQ(render(both + "{% if messages is not defined %}{% set m = messages | selectattr('role',"
                          "'eq','user') | first %}{{ m.content }}{% endif %}"),
            "QD");
}

TEST(ChatTemplate, NamesWhatItDoesNotKnow) {
  const std::string both = "{{" + kQuery + "}}{{" + kDocument + "}}";
  EXPECT_THAT(render_error("{{" + kQuery + "}}"),
              HasSubstr("file: leaves out the message of the role 'document'"));
  EXPECT_THAT(render_error("a\n{% for m in messages %}" + both),
              HasSubstr("file: line 2: found 'for m in messages %}{{messages | selecta', "
                        "expected set, if, else or endif"));
  EXPECT_THAT(render_error(both + "{{ bos_token }}"),
              HasSubstr("'bos_token' is not set, expected messages"));
  EXPECT_THAT(render_error(both + "{{ bos_token | default('') }}"),
              HasSubstr("'bos_token' is not known"));
  EXPECT_THAT(render_error(both + "{% if tools is defined %}"), HasSubstr("'tools' is not known"));
  EXPECT_THAT(render_error(both + "{{ messages[0].content }}"),
              HasSubstr("found '[0].content }}'"));
  EXPECT_THAT(render_error(both + "{{ " + kQuery + " | upper }}"),
              HasSubstr("found the filter 'upper', expected messages |"));
  EXPECT_THAT(render_error(both + "{{ messages }}"),
              HasSubstr("found messages, expected their text"));
  EXPECT_THAT(render_error(both + "{{ 'a }}"), HasSubstr("a string does not end"));
  EXPECT_THAT(render_error(both + "{{ " + std::string(100000, '(')),
              HasSubstr("too many parentheses"));
  EXPECT_THAT(render_error(both + "{# a"), HasSubstr("a comment does not end"));
  EXPECT_THAT(render_error(both + "{{ 'a' "), HasSubstr("expected }}"));
  EXPECT_THAT(
      render_error(both + "{{ (messages | selectattr('role', 'eq', 'user') | first).content }}"),
      HasSubstr("no message has the role 'user'"));
}

TEST(ChatTemplate, IsAsLongAsAFileCanBe) {
  std::string doubled = "{% set x = 'aaaa' %}", ifs,
              printed = "{% set x = '" + std::string(1000, 'a') + "' %}";
  for (int i = 0; i < 40; ++i) doubled += "{% set x = x ~ x %}";
  for (int i = 0; i < 100; ++i) ifs += "{% if 'a' %}";
  for (int i = 0; i < 2000; ++i) printed += "{{ x }}";
  EXPECT_THAT(render_error(doubled), HasSubstr("the text has more than 1048576 bytes"));
  EXPECT_THAT(render_error(printed), HasSubstr("the text has more than 1048576 bytes"));
  EXPECT_THAT(render_error(ifs), HasSubstr("too many ifs"));
}

TEST(ChatTemplate, IsAroundEachPair) {
  const CopiedModel copy("qwen3-score");
  const Tokenizer plain = Tokenizer::load(copy.path());
  copy.write("chat_template.jinja",
             "the man: {{" + kQuery + "}} dogs {{" + kDocument + "}} is walking");
  const Model model = Model::load(copy.path());
  const Input pair{"two guitars", "a girl"};
  const Encoding found = model.tokenizer().encode(pair);
  const Encoding whole = plain.encode({"the man: two guitars dogs a girl is walking"});
  EXPECT_EQ(found.ids,
            std::vector(whole.ids.begin() + whole.first.begin, whole.ids.begin() + whole.first.end))
      << "without special tokens";
  EXPECT_EQ(found.offsets[0], Offset());
  EXPECT_EQ(found.offsets[found.first.begin], (Offset{0, 3}));
  EXPECT_EQ(found.offsets[found.second.begin + 1].end, 6);
  EXPECT_EQ(found.second.begin - found.first.end, 1) << "dogs";
  EXPECT_EQ(model.tokenizer().strings(pair).size(), found.ids.size());
  EXPECT_EQ(model.tokenize(std::vector{pair, pair})[1].ids, found.ids);

  EXPECT_TRUE(model.info().has_chat_template);
  const Tokenizer alone = Tokenizer::load(copy.path());  // also takes single texts, as they are
  EXPECT_EQ(alone.encode(pair).ids, found.ids);
  EXPECT_EQ(alone.encode({"a girl"}).ids, plain.encode({"a girl"}).ids);
  const std::vector<Encoding> both = alone.encode(std::vector<Input>{{"a girl"}, pair});
  EXPECT_EQ(both[0].ids, plain.encode({"a girl"}).ids);
  EXPECT_EQ(both[1].ids, found.ids);
  const Tokenizer shorter = Tokenizer::load(copy.path(), 7);
  const Input long_text{"a a a a a a a a a a"};
  EXPECT_EQ(shorter.encode(long_text).ids.size(), 7u);
  EXPECT_EQ(shorter.encode(std::vector{long_text})[0].ids, shorter.encode(long_text).ids);

  Options options;
  options.max_length = 9;
  const Model limited = Model::load(copy.path(), options);
  const Encoding cut = limited.tokenizer().encode({"two", "a a a a a a a a a"});
  EXPECT_TRUE(cut.truncated);
  ASSERT_EQ(cut.ids.size(), 9u);
  EXPECT_TRUE(std::equal(found.ids.end() - 2, found.ids.end(), cut.ids.end() - 2)) << "is walking";
  EXPECT_EQ(limited.tokenizer().strings({"two", "a a a a a a a a a"}).back(), "walking");

  options.max_length = 2;
  EXPECT_THAT(test::error_of([&] { Model::load(copy.path(), options).tokenizer().encode(pair); }),
              HasSubstr("max_length: found 2, expected at least 6 for the chat template"));

  const auto error = [&](const Input& input) {
    try {
      model.tokenize(std::vector{pair, input});
    } catch (const Error& failed) {
      return std::string(failed.what());
    }
    return std::string();
  };
  EXPECT_THAT(error({"one"}),
              HasSubstr("input 1: the model scores pairs, a query and a document: found one text"));
  EXPECT_THAT(error({"two", "a\xff"}), HasSubstr("the second text is not valid UTF-8 at byte 1"));
}

TEST(ChatTemplate, BelongsToAModelThatScoresByTokens) {
  const CopiedModel copy("qwen3-score");
  copy.write_json("1_LogitScore/config.json", {{"true_token_id", 1 << 20}});
  EXPECT_THAT(load_error(copy), HasSubstr("true_token_id: found 1048576"));
  copy.write_json("1_LogitScore/config.json", {{"true_token_id", 7}});
  EXPECT_EQ(Model::load(copy.path()).info().labels.size(), 1u);
  copy.write_json("sentence_bert_config.json", {{"transformer_task", "feature-extraction"}});
  EXPECT_THAT(load_error(copy),
              HasSubstr("found \"feature-extraction\", expected text-generation"));
  const nlohmann::json text = {{"method", "forward"}, {"method_output_name", "logits"}};
  nlohmann::json message = text;
  message["format"] = "flat";
  copy.write_json("sentence_bert_config.json",
                  {{"transformer_task", "text-generation"},
                   {"modality_config", {{"text", text}, {"message", message}}}});
  EXPECT_THAT(load_error(copy), HasSubstr("as there is no chat_template.jinja"));
  copy.write("chat_template.jinja", "{% for m in messages %}{% endfor %}");
  EXPECT_THAT(load_error(copy), HasSubstr("chat_template.jinja: line 1: found 'for m in messages"));
}

}  // namespace
}  // namespace bert
