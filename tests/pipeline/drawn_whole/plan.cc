#include "pipeline/drawn_whole/plan.h"

#include <cctype>
#include <stdexcept>

namespace infeed::test {
namespace {

/// A recursive descent over the text of a plan.
class PlanReader {
 public:
  explicit PlanReader(std::string_view text) : text_(text) {}

  Plan whole() {
    Plan plan = read_plan();
    if (at_ < text_.size()) fail("the end");
    return plan;
  }

 private:
  Plan read_plan() {
    Plan plan;
    do plan.steps.push_back(read_step());
    while (take('|'));
    return plan;
  }

  Step read_step() {
    Step step{.op = read_word(), .inputs = {}};
    expect('(');
    while (!take(')')) {
      if (take('{')) {
        step.inputs.push_back(read_plan());
        expect('}');
      } else {
        std::string name = read_word();
        expect('=');
        step.numbers[std::move(name)] = read_number();
      }
      take(',');
    }
    return step;
  }

  std::string read_word() {
    pass_spaces();
    std::string word;
    while (at_ < text_.size() && (std::isalnum(text_[at_]) != 0 || text_[at_] == '_')) {
      word += text_[at_++];
    }
    if (word.empty()) fail("a name");
    return word;
  }

  std::int64_t read_number() {
    pass_spaces();
    std::string digits;
    while (at_ < text_.size() && (std::isdigit(text_[at_]) != 0 || text_[at_] == '-')) {
      digits += text_[at_++];
    }
    if (digits.empty()) fail("a number");
    return std::stoll(digits);
  }

  bool take(char wanted) {
    pass_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("'") + wanted + "'");
  }
  void pass_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  [[noreturn]] void fail(const std::string& wanted) const {
    throw std::runtime_error("the plan lacks " + wanted + " at character " + std::to_string(at_) +
                             ": ..." + std::string(text_.substr(at_, 30)));
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::int64_t Step::at(const std::string& name) const {
  const auto found = numbers.find(name);
  if (found == numbers.end()) throw std::logic_error(op + " has no number '" + name + "'");
  return found->second;
}

std::int64_t Step::get(const std::string& name, std::int64_t otherwise) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? otherwise : found->second;
}

std::string Plan::text() const {
  std::string text;
  for (const Step& step : steps) {
    if (!text.empty()) text += " | ";
    text += step.op + "(";
    bool is_first = true;
    const auto add = [&](const std::string& part) {
      text += (is_first ? "" : ", ") + part;
      is_first = false;
    };
    for (const auto& [name, number] : step.numbers) add(name + "=" + std::to_string(number));
    for (const Plan& input : step.inputs) add("{" + input.text() + "}");
    text += ")";
  }
  return text;
}

Plan Plan::from_text(std::string_view text) { return PlanReader(text).whole(); }

}  // namespace infeed::test
