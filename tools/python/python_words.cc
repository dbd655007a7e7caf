#include "python/python_words.h"

#include <regex>
#include <utility>
#include <vector>

namespace infeed::python {

std::string in_python_words(const std::string& text) {
  // Most messages advise nothing that C++ writes in another way.
  if (text.find("::") == text.npos && text.find('.') == text.npos) return text;
  static const std::vector<std::pair<std::regex, const char*>> kWords = [] {
    std::vector<std::pair<std::regex, const char*>> words;
    words.emplace_back("ColumnSchema::if_missing", "default=");
    words.emplace_back("(^|[ ({])\\.([a-z_]+) = ", "$1$2=");             // .name = value
    words.emplace_back("\\{([a-z_]+=[^{}]*)\\}", "$1");                  // {name=value}
    words.emplace_back("=(infeed::)?[A-Z]\\w*::([a-z_0-9]+)", "='$2'");  // name=Enum::value
    words.emplace_back("=true\\b", "=True");
    words.emplace_back("=false\\b", "=False");
    words.emplace_back("infeed::autotune\\b", "'autotune'");
    words.emplace_back("\\binfeed::([a-z_]+)", "$1");  // infeed::prefetch()
    words.emplace_back("\\b[A-Z]\\w*(Options|Limits)::([a-z_]+)", "$2");
    words.emplace_back("([^\\w'/])\\.parallelism\\b", "$1parallelism");
    return words;
  }();
  std::string result = text;
  for (const auto& [word, replacement] : kWords) {
    result = std::regex_replace(result, word, replacement);
  }
  return result;
}

}  // namespace infeed::python
