#pragma once

#include <infeed/pipeline/stage.h>

namespace infeed::detail {

/// Returns the last shard among the stages from `last` to its first source; null if there is none.
inline const Node* find_shard(const Node& last) {
  const Node* node = &last;
  while (node->name() != "shard") {
    if (node->inputs().empty()) return nullptr;
    node = &node->input();
  }
  return node;
}

}  // namespace infeed::detail
