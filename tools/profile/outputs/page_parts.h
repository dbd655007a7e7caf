#pragma once

#include <string_view>

/// The parts of the HTML report as they were when the program was built
/// (tools/cmake/InfeedEmbed.cmake).
namespace infeed::tools {

std::string_view page_frame();    ///< report.html: the others' places are named @STYLE@ and so on
std::string_view page_style();    ///< report.css
std::string_view page_charts();   ///< charts.js
std::string_view page_script();   ///< report.js
std::string_view page_library();  ///< Chart.js; empty when the machine that built it had none

}  // namespace infeed::tools
