#include <string>
#include <string_view>

#include <infeed/records/detail/message_error.h>

#include "records/example/wire_writer.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

Error message_error(std::string_view bytes) {
  return error_of([&] { fail_message("shop.Click", bytes); });
}

TEST(MessageError, NamesTheFieldThatBreaks) {
  const std::string whole = test::varint_field(1, 300) + test::bytes_field(2, "abc");
  EXPECT_EQ(message_error(whole + "\x12\x04"
                                  "abc")
                .code(),
            ErrorCode::data_loss);
  EXPECT_EQ(message_error(whole + "\x12\x04"
                                  "abc")
                .message(),
            "13 bytes are no shop.Click: the field at byte 8 of them is cut, or not in protobuf's "
            "wire format");
  EXPECT_EQ(message_error("\x80").message(),
            "1 bytes are no shop.Click: the field at byte 0 of them is cut, or not in protobuf's "
            "wire format");
  for (const std::string_view bytes : {std::string_view(whole), std::string_view()}) {
    EXPECT_EQ(message_error(bytes).message(),
              std::to_string(bytes.size()) +
                  " bytes are no shop.Click: the fields are whole, but a message inside is not, or "
                  "a string is no UTF-8; is it another type?");
  }
  const std::string_view too_many(whole.data(), kMessageBytesMax + 1);  // nobody looks at them
  EXPECT_EQ(message_error(too_many).message(),
            "2147483648 bytes are no shop.Click: protobuf takes 2147483647 at most");
}

TEST(MessageError, NamesWhatIsLacking) {
  const Error error = error_of([] { fail_required("shop.Order", "id, user.name"); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "a shop.Order lacks what its schema requires: id, user.name");
}

}  // namespace
}  // namespace infeed::detail
