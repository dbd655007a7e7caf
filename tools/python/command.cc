#include "python/command.h"

#include <cstdio>
#include <string>
#include <vector>

#include <infeed/convert/command.h>

namespace infeed::python {

void bind_command(nb::module_& module) {
  module.def(
      "_run_command",
      [](std::vector<std::string> arguments) {
        std::vector<char*> pointers;
        for (std::string& argument : arguments) pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        const nb::gil_scoped_release without_gil;
        const int status = run_command(static_cast<int>(arguments.size()), pointers.data());
        std::fflush(nullptr);
        return status;
      },
      nb::arg("arguments"), "Runs the infeed command; arguments[0] is its name.");
}

}  // namespace infeed::python
