// A variable that was made outside the strategy's scope has no copy on the replicas.
#include "pictures.h"

int main() {
  infeed::Strategy strategy(initialised("v3-8"));
  const infeed::Scope outside({.seed = 1});
  const infeed::ReplicaFunction forward = small_model(outside);
  require_error("variable hidden/", [&] { strategy.run(forward, pictures(64, 1)); });
  require_error("make it in that scope", [&] { strategy.run(forward, pictures(64, 1)); });

  // Nor does a variable of one strategy belong to another.
  const infeed::Strategy other(initialised("v3-8"));
  const infeed::ReplicaFunction of_other = small_model(other.scope());
  require_error("made outside the scope", [&] { strategy.run(of_other, pictures(64, 1)); });

  // And a strategy's belongs to its steps.
  const infeed::Scope scope = strategy.scope();
  const infeed::Variable kernel =
      scope.below("a").variable("kernel", {2, 2}, infeed::Initializer::ones);
  infeed::Tape tape;
  require_error("variable a/kernel", [&] { tape.read(kernel); });
}
