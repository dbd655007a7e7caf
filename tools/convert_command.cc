#include "convert_command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include <infeed/error.h>

#include "convert.h"
#include "fashion_mnist.h"
#include "terminal.h"

namespace infeed::tools {
namespace {

struct Options {
  std::string data{kFashionMnistFolder};
  std::string images_file;
  std::string labels_file;
  std::string output;
  std::string split = "both";
  std::uint32_t shards = 16;
  std::string compression = "none";
  bool overwrite = false;
  bool no_color = false;
  int threads = 0;
};

/// One set of shards to be written.
struct Part {
  std::string name;
  IdxPair files;
};

std::vector<Part> parts(const Options& options) {
  if (!options.images_file.empty()) return {{"data", {options.images_file, options.labels_file}}};
  std::vector<Part> result;
  for (const Split split : {Split::train, Split::test}) {
    const std::string name(to_string(split));
    if (options.split != "both" && options.split != name) continue;
    result.push_back({name, find_idx_pair(options.data, split)});
  }
  return result;
}

void run(const Options& options, const std::stop_token& stop) {
  Terminal terminal(stdout, {.colours = !options.no_color});
  for (const Part& part : parts(options)) {
    terminal.status(fmt::format("{}: reading {}", part.name, part.files.images_file));
    const auto input = open_idx_pair(part.files.images_file, part.files.labels_file);
    if (stop.stop_requested()) {
      throw Error(ErrorCode::cancelled,
                  fmt::format("stopped before the {} shards were begun; finished sets were kept",
                              part.name));
    }
    const ConvertResult result = convert(
        *input,
        {.prefix = options.output + "/" + part.name,
         .shard_count = options.shards,
         .compression = options.compression == "gzip" ? Compression::gzip : Compression::none,
         .existing = options.overwrite ? ExistingFile::replace : ExistingFile::refuse,
         .threads = options.threads,
         .stop = stop,
         .on_progress = [&](std::uint64_t done) {
           const double share = static_cast<double>(done) / static_cast<double>(input->size());
           terminal.status(
               fmt::format("{}: {} {:3.0f} %", part.name, terminal.bar(share, 30), 100 * share));
         }});
    terminal.line(fmt::format("{}: {} in {} shards, {}, {:.2f} s: {}", part.name, input->describe(),
                              result.files.size(), as_megabytes(result.bytes), result.seconds,
                              result.files.front()));
  }
}

}  // namespace

Command add_convert_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand(
      "convert", "Write TFRecord shards of tf.train.Example {image: bytes, label: int64}");
  CLI::Option* const data = command
                                ->add_option("--data", options->data,
                                             "Folder with Fashion-MNIST's (or MNIST's) IDX files")
                                ->capture_default_str()
                                ->type_name("DIR");
  CLI::Option* const images =
      command->add_option("--images", options->images_file, "One IDX file of images instead")
          ->type_name("FILE")
          ->excludes(data);
  CLI::Option* const labels =
      command->add_option("--labels", options->labels_file, "Its labels")->type_name("FILE");
  images->needs(labels);
  labels->needs(images);
  command
      ->add_option("-o,--output", options->output, "Folder for the shards; made if it isn't there")
      ->required()
      ->type_name("DIR");
  command->add_option("--split", options->split, "train, test or both")
      ->check(CLI::IsMember({"train", "test", "both"}))
      ->capture_default_str()
      ->type_name("NAME")
      ->excludes(images);
  command->add_option("--shards", options->shards, "Shards of each set")
      ->check(CLI::Range(1, 99'999))
      ->capture_default_str();
  command
      ->add_option("--compression", options->compression,
                   "none or gzip (the names then end in .tfrecord.gz)")
      ->check(CLI::IsMember({"none", "gzip"}))
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--threads", options->threads, "Threads to use; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_flag("--overwrite", options->overwrite, "Replace shards that exist");
  command->add_flag("--no-color", options->no_color, "No colours");
  command->footer(
      "Example: infeed convert -o data --shards 16\n"
      "writes data/train-00000-of-00016.tfrecord and so on. A shard has its name only when it is "
      "whole.\n");
  return {.options = command, .run = [options](std::stop_token stop) { run(*options, stop); }};
}

}  // namespace infeed::tools
