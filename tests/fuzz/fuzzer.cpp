// A libFuzzer program for the entry named by ESPALIER_FUZZ_ENTRY; see script/fuzz.
#include "fuzz/api.hpp"
#include "fuzz/entries.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  espalier::fuzz::ESPALIER_FUZZ_ENTRY(std::as_bytes(std::span(data, size)));
  return 0;
}
