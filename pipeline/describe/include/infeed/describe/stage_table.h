#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/bad_rows.h>
#include <infeed/describe/elements.h>
#include <infeed/describe/option_value.h>

/// Why: a stage's name, its options with their types and defaults, and the function that makes it
/// stand in one place. JSON is read and written from it, and Python's methods with their keywords,
/// help and stubs are made from it.
///
///     struct FirstOptions : infeed::StageOptions {
///       std::int64_t count = 0;
///     };
///     infeed::describe::StageTable table = infeed::describe::native_stages();
///     table.add("first", "Gives the first elements.", FirstOptions{})
///         .required("count", &FirstOptions::count, "How many.")
///         .makes([](const FirstOptions& options, const infeed::describe::Making& making) {
///           return making.input().then(infeed::take(options.count));
///         });
///
/// Errors: invalid_argument that names the place ("$.stages[3].buffer"). Thread-safety: a value.
namespace infeed::describe {

class StageTable;
/// Things that JSON can't hold, by their ids.
using Objects = std::map<std::string, std::shared_ptr<void>>;

/// The things that a stage is made from besides its options.
struct Making {
  std::vector<Elements> inputs;  ///< the pipeline before, then those of "inputs"
  const StageTable& table;
  const Objects& objects;
  std::string place;  ///< "$.stages[3]"

  const Elements& input() const { return inputs.front(); }
  /// Returns the object. Throws not_found that says how it gets there.
  std::shared_ptr<void> object(const ObjectId& id) const;
};

enum class StageRole : std::uint8_t {
  source,   ///< stands first
  stage,    ///< has one input
  joins,    ///< has the pipeline before it and those of "inputs"
  gathers,  ///< stands first, and has those of "inputs"
};

struct StageOption {
  std::string name;
  std::string type;  ///< as Python writes it
  std::string doc;
  bool is_required = false;
  JsonText preset = {};  ///< the value that is left out
  std::function<void(void* options, const JsonText& value, const std::string& place)> read = {};
  std::function<JsonText(const void* options)> write = {};
};

struct StageKind {
  std::string name;
  std::string doc;
  StageRole role = StageRole::stage;
  std::vector<StageOption> options = {};
  std::function<std::shared_ptr<void>()> new_options = {};
  std::function<Elements(const void* options, const Making& making)> make = {};
};

/// Adds a kind's options one by one. The preset has the values of those that are left out.
template <class Options>
class AddedStage {
 public:
  AddedStage(StageKind& kind, Options preset) : kind_(kind), preset_(std::move(preset)) {
    kind_.new_options = [preset = preset_]() { return std::make_shared<Options>(preset); };
  }
  template <class T, class Owner>
  AddedStage& required(std::string name, T Owner::*member, std::string doc) {
    option(std::move(name), member, std::move(doc));
    kind_.options.back().is_required = true;
    kind_.options.back().preset = {};
    return *this;
  }
  template <class T, class Owner>
  AddedStage& option(std::string name, T Owner::*member, std::string doc) {
    return reached<T>(
        std::move(name),
        std::move(doc), [member](auto& options) -> auto& { return options.*member; });
  }
  /// An option of the type Count that may be "autotune".
  template <class Owner>
  AddedStage& tuned(std::string name, Count Owner::*member, std::string doc) {
    StageOption added = begun<Tuned>(std::move(name), std::move(doc));
    added.read = [member](void* options, const JsonText& value, const std::string& place) {
      static_cast<Options*>(options)->*member = OptionValue<Tuned>::read(value, place).value;
    };
    added.write = [member](const void* options) {
      return OptionValue<Tuned>::write({(static_cast<const Options*>(options)->*member).value()});
    };
    return end(std::move(added));
  }
  /// An option that lies deeper: `reach` returns a reference to it from the options.
  template <class T, class Reach>
  AddedStage& reached(std::string name, std::string doc, Reach reach) {
    StageOption added = begun<T>(std::move(name), std::move(doc));
    added.read = [reach](void* options, const JsonText& value, const std::string& place) {
      reach(*static_cast<Options*>(options)) = OptionValue<T>::read(value, place);
    };
    added.write = [reach](const void* options) {
      return OptionValue<T>::write(reach(*static_cast<const Options*>(options)));
    };
    return end(std::move(added));
  }
  template <class Make>
  void makes(Make make) {
    if constexpr (requires(Options options) { options.name; }) {
      option("name", &Options::name, "Its name in statistics and errors.");
    }
    kind_.make = [make](const void* options, const Making& making) -> Elements {
      return make(*static_cast<const Options*>(options), making);
    };
  }

 private:
  template <class T>
  static StageOption begun(std::string name, std::string doc) {
    StageOption added;
    added.name = std::move(name);
    added.type = OptionValue<T>::type();
    added.doc = std::move(doc);
    return added;
  }
  AddedStage& end(StageOption added) {
    added.preset = added.write(&preset_);
    kind_.options.push_back(std::move(added));
    return *this;
  }

  StageKind& kind_;
  Options preset_;
};

class StageTable {
 public:
  /// Adds a kind of stage, whose options follow.
  template <class Options>
  AddedStage<Options> add(std::string name, std::string doc, Options preset,
                          StageRole role = StageRole::stage) {
    auto kind = std::make_shared<StageKind>();
    kind->name = std::move(name);
    kind->doc = std::move(doc);
    kind->role = role;
    AddedStage<Options> added(*kind, std::move(preset));
    kinds_.push_back(std::move(kind));
    return added;
  }
  /// Returns the kind of that name. Throws an Error that lists the nearest names.
  const StageKind& kind(const std::string& name, const std::string& place) const;
  const std::vector<std::shared_ptr<StageKind>>& kinds() const { return kinds_; }
  /// The bad rows that pipelines of this table keep (`keep_rows` of parse). Pipelines inside others
  /// and copies of the table share it.
  const std::shared_ptr<BadRowLedger>& bad_rows() const { return bad_rows_; }
  /// Returns all kinds with their options, for programs: a list of objects.
  std::string to_json() const;

 private:
  std::vector<std::shared_ptr<StageKind>> kinds_;
  std::shared_ptr<BadRowLedger> bad_rows_ = std::make_shared<BadRowLedger>();
};

/// Returns the library's sources and stages.
StageTable native_stages();

}  // namespace infeed::describe
