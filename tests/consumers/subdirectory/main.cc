#include <cstdio>

#include <infeed/error.h>
#include <infeed/records/crc32c.h>

int main() {
  if (infeed::crc32c("123456789") != 0xe3069283U) return 1;
  const infeed::Error error(infeed::ErrorCode::not_found, "no such file");
  std::puts(error.what());
  return 0;
}
