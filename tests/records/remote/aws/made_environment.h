#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "remote/aws/s3_settings.h"

namespace infeed::test {

inline detail::Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace infeed::test
