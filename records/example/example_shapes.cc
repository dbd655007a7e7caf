#include "infeed/records/detail/example_shapes.h"

#include "infeed/records/detail/usual_form.h"

namespace infeed::detail {

void ExampleShape::add(Piece piece, std::string_view bytes) {
  piece.text_begin = end_;
  piece.begin = static_cast<std::uint32_t>(bytes.data() - example_);
  piece.bytes = static_cast<std::uint32_t>(bytes.size());
  piece.text_bytes = piece.begin - end_;
  texts_.append(example_ + end_, piece.text_bytes);
  end_ = piece.begin + piece.bytes;
  pieces_.push_back(piece);
}

void ExampleShape::add_list(std::size_t index, FeatureKind kind, std::string_view list) {
  Piece piece{};
  piece.index = static_cast<std::uint32_t>(index);
  piece.kind = kind;
  add(piece, list);
}

void ExampleShape::add_gap(std::string_view bytes) {
  Piece piece{};
  piece.is_gap = true;
  add(piece, bytes);
}

void ExampleShape::end() {
  add_gap({example_ + example_bytes_, 0});
  example_ = nullptr;
}

std::unique_ptr<const ExampleShape> usual_shape(const NameTable& names, std::string_view example) {
  auto shape = std::make_unique<ExampleShape>(example);
  const auto add_list = [&](std::size_t index, FeatureKind kind, std::string_view list) {
    shape->add_list(index, kind, list);
    return true;
  };
  walk_usual_features(names, example, add_list, [&](std::string_view bytes) {  //
    shape->add_gap(bytes);
  });
  shape->end();
  return shape;
}

void ExampleShapes::learn(std::unique_ptr<const ExampleShape> shape) {
  for (auto& slot : shapes_) {
    const ExampleShape* expected = nullptr;
    if (slot.compare_exchange_strong(expected, shape.get(), std::memory_order_acq_rel)) {
      (void)shape.release();
      return;
    }
    if (expected->is_same_as(*shape)) return;
  }
}

void ExampleShapes::clear() {
  for (auto& slot : shapes_) delete slot.exchange(nullptr);
}

}  // namespace infeed::detail
