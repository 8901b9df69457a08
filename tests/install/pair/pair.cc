// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <iostream>

#include <bert_infer.h>

int main(int argc, char** argv) try {
  if (argc < 3) return 2;
  const bert::Model model = bert::Model::load(argc > 3 ? argv[3] : bert::demo_model());
  const std::vector<bert::Input> pairs = {{argv[1], argv[2]}};
  const bert::Output logits = model.run(pairs);
  const char* before = "";
  for (const float value : logits.row(0)) {
    char text[32];
    std::cout << before << std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
    before = " ";
  }
  std::cout << '\n';
} catch (const bert::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
