#include <clocale>
#include <locale>

/// Loaded into a program (LD_PRELOAD), takes the environment's locale before main(), as programs with
/// windows and Python's locale.setlocale() do. Numbers of the C and C++ library then have a comma.
namespace {

[[gnu::constructor]] void set_locale() {
  std::setlocale(LC_ALL, "");
  std::locale::global(std::locale(""));
}

}  // namespace
