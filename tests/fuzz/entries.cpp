#include "fuzz/entries.hpp"

#include <stdexcept>
#include <string>

#include "base/pattern.hpp"
#include "espalier/error.hpp"
#include "espalier/run.hpp"
#include "espalier/safetensors.hpp"

namespace espalier::fuzz {
namespace {

void expect(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(promise);
}

// Runs a reader; a refusal must be one short line.
template <class Read>
void read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string message = error.what();
    expect(message.find('\n') == std::string::npos, "an error message is one line");
    expect(message.size() < 2000, "an error message is short");
  }
}

}  // namespace

void safetensors(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const SafetensorsFile file = SafetensorsFile::parse(bytes, "input");
    const auto written = file.serialize();
    const SafetensorsFile again = SafetensorsFile::parse(written, "our own output");
    expect(again.metadata == file.metadata, "metadata survives a round trip");
    expect(again.serialize() == written, "tensors survive a round trip");
  });
}

void pattern(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const Pattern p = parse_pattern_file(bytes, "input");
    expect(p.channels == 1 || p.channels == 3, "a pattern has one or three channels");
    const Pattern again = parse_pattern(format_pattern(p), "our own output");
    expect(again.height == p.height && again.width == p.width, "a pattern keeps its size");
    // Three channels that happen to be all black are read back as one channel of zeros.
    if (again.channels == p.channels) expect(again.bits == p.bits, "a pattern survives a round trip");
  });
}

void png(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const Image image = decode_png(bytes, "input");
    if (image.rgb.size() > (1 << 20)) return;  // large ones only cost time
    expect(decode_png(encode_png(image), "our own output").rgb == image.rgb, "an image survives a round trip");
  });
}

void config(std::span<const std::byte> bytes) {
  read_or_refuse([&] {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::string parsed = RunConfig::parse(text, "input", all_tasks()).text();
    expect(RunConfig::parse(parsed, "our own output", all_tasks()).text() == parsed,
           "a checked configuration survives a round trip");
  });
}

}  // namespace espalier::fuzz
